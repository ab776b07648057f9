module lotse/launch

go 1.26
