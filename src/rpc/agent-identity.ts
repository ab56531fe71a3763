/** Who asks over an uplink: the node, and what proves it. */
export type AgentIdentity = {
  readonly nodeId: string
  readonly name: string
  /** Of the node's secret. */
  readonly secretHash: string
}
