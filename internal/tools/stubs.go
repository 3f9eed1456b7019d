package tools

import "context"

func runExec(ctx context.Context, env Env, call Call) (Result, error)   { return Result{}, nil }
func runStdin(ctx context.Context, env Env, call Call) (Result, error)  { return Result{}, nil }
func runRead(ctx context.Context, env Env, call Call) (Result, error)   { return Result{}, nil }
func runList(ctx context.Context, env Env, call Call) (Result, error)   { return Result{}, nil }
func runSearch(ctx context.Context, env Env, call Call) (Result, error) { return Result{}, nil }
func runPatch(ctx context.Context, env Env, call Call) (Result, error)  { return Result{}, nil }

// Subject says in one line what a call would do, for a person who is asked: the command, or the files a patch touches.
func Subject(call Call) string { return call.Name }

// Describe says in a few words what a call does, e.g. "read main.go".
func Describe(call Call) string { return call.Name }
