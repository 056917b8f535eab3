#pragma once

// The test kit's C: TLS by OpenSSL, and the few calls of Linux that Swift's Glibc module does not show.

#include "system_calls.h"
#include "tls.h"
