FROM rust:1.95-bookworm AS build
WORKDIR /build
COPY . .
RUN cargo build --release --locked --bin inkfast \
 && install -d -m 0700 /state

FROM debian:bookworm-slim
# The provider's certificate is checked against these roots.
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /build/target/release/inkfast /usr/local/bin/inkfast
# By number: the user needs no entry in /etc/passwd, and no home.
COPY --from=build --chown=10001:10001 /state /state
USER 10001:10001

# The ledger lives in /state/inkfast; without a named volume the conversations' nodes are lost with the container.
ENV XDG_STATE_HOME=/state
VOLUME ["/state"]

# Inside a container the ports have to be open to the outside of it, or nothing can reach them. Publish them on the
# host's loopback only; whoever reaches the proxy speaks to the providers with the keys of its users' requests:
#   docker run -p 127.0.0.1:4640:4640 -p 127.0.0.1:4641:4641 -v inkfast:/state inkfast
EXPOSE 4640 4641
ENTRYPOINT ["inkfast"]
CMD ["serve", "--listen", "0.0.0.0:4640", "--admin", "0.0.0.0:4641"]
