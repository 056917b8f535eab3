#include "CInflightCodecs.h"
