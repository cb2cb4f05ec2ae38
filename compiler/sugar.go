package compiler

func (r *resolver) sugar(s *subject) {}
