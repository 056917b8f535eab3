#pragma once

// C code of the test kit: TLS by OpenSSL, and the Linux calls that Swift's Glibc module does not export.

#include "system_calls.h"
#include "tls.h"
