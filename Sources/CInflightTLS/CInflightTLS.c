#include "CInflightTLS.h"
