.DEFAULT_GOAL := help
.PHONY: help demo test fuzz test-engine bench bench-audit bench-peers fmt

help: ## list these targets
	@awk -F ': ## ' '/^[a-z-]+: ## / { printf "make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: ## a scripted agent, straight and through Inkfast, side by side (no network, no key)
	@cargo run --locked -- demo

test: ## every check and test; the last line is "N passed, N failed"
	@tests/run

fuzz: ## every fuzz target for a minute (the first build takes some minutes)
	@tests/fuzz

test-engine: ## an agent against a real engine, straight and through Inkfast (builds the engine first: some minutes)
	@tests/engine/run

bench: ## what the pure core costs, against a hash of the body, and the memory of many conversations
	cargo bench --locked --bench core --bench memory

bench-audit: ## an audit of a gibibyte beside jq on the same file: speed and memory
	@benches/audit/run

bench-peers: ## what other tools say about the same four recordings (installs them into target/venv)
	@benches/peers/run

fmt: ## format the sources
	cargo fmt
	cargo fmt --manifest-path fuzz/Cargo.toml
