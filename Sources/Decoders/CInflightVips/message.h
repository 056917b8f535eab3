#pragma once

#include "CInflightVips.h"

/// Takes the library's text of what went wrong, which is then empty again: always to be called where something failed.
int inflight_vips_fail(char message[INFLIGHT_VIPS_MESSAGE]);
