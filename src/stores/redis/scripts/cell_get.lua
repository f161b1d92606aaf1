-- KEYS: the cell.
--#include cell.lua
return { 0, number, version, bytes }
