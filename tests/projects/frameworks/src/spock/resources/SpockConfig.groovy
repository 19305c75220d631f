runner { parallel { enabled true; fixed(4) } }
