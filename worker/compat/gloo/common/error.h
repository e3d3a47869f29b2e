// Part of the stand-in for Gloo's headers; see gloo/context.h beside it.
#pragma once

#include <gloo/context.h>
