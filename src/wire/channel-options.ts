/**
 * The settings of every gRPC connection, and the limits that both sides of one keep.
 */
import type { ChannelOptions } from '@grpc/grpc-js'

/** A frame above this is refused by the receiving side. The largest thing sent is one result of a call. */
export const frameBytesMax = 32 * 1024 * 1024

/** Where senders close a batch and begin the next frame, so that a small message never waits behind megabytes. */
export const frameBytesTarget = 512 * 1024

/** HTTP/2's default of 64 KiB would be all that one round trip can carry. */
export const flowControlWindowBytes = 8 * 1024 * 1024

/** Inbound connections beyond this are closed at once. */
export const connectionsMax = 1024

/** Connections without a stream that passed the handshake; one more and the oldest of them is closed. */
export const strangersMax = 256

/** What all connections together may have sent of frames that are not complete; beyond it the one with the most is closed. */
export const unreadBytesMax = 256 * 1024 * 1024

/** Streams on one connection, those that are just being refused included; the program opens one. */
const streamsMax = 4

const common: ChannelOptions = {
  'grpc.max_receive_message_length': frameBytesMax,
  'grpc.max_send_message_length': frameBytesMax,
  'grpc.keepalive_time_ms': 10_000,
  // Its bookkeeping costs a fifth of the throughput, and no reader exists.
  'grpc.enable_channelz': 0,
}

/** Of a connection that carries nothing which takes longer on its way: a ping waits behind it. */
export const pingTimeoutMs = 5_000

/** `pingMs`: how long a ping may go unanswered. Node's HTTP/2 reads no answer while a write waits. */
export const clientOptions = (pingMs: number): ChannelOptions => ({
  ...common,
  'grpc.keepalive_timeout_ms': pingMs,
  // A broken stream is not replayed: its owner knows what was on it.
  'grpc.enable_retries': 0,
  // Each use has a TCP connection of its own.
  'grpc.use_local_subchannel_pool': 1,
  // An http_proxy in the environment is not meant for traffic between servers.
  'grpc.enable_http_proxy': 0,
  'grpc.service_config_disable_resolution': 1,
  // Every dial makes a new channel, so these only bound what one dial does on its own.
  'grpc.initial_reconnect_backoff_ms': 100,
  'grpc.max_reconnect_backoff_ms': 200,
  'grpc-node.flow_control_window': flowControlWindowBytes,
})

export const serverOptions: ChannelOptions = {
  ...common,
  'grpc.max_concurrent_streams': streamsMax,
  // The side that dialled notices first.
  'grpc.keepalive_timeout_ms': 120_000,
}
