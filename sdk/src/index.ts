/**
 * The client library for applications. Nothing is exported yet: until it is, the interface is four POST requests,
 * described in docs/interface.md, and curl is enough to speak it.
 */
export {}
