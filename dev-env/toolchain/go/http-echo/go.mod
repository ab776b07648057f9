module toolchain/http-echo

go 1.26.0
