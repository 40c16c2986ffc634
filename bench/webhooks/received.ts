/** The requests that an endpoint has received. Shared by the bench and the endpoint process. */

export type Behaviour = 'ok' | 'hang' | 'error'

export type ReceivedRequest = {
  readonly endpoint: number
  /** When the head of the request was complete, by a clock that all processes share. */
  readonly atMs: number
  /** Value of the header `webhook-id`. `eventId` is from the body. */
  readonly id: string
  readonly eventId: string
  readonly reference: string
  /** SHA-256 of the bytes of `data`. */
  readonly digest: string
}
export type SampledRequest = {
  readonly endpoint: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

const head = /^\{"eventId":"([^"]*)","data":/
/** Splits the envelope without parsing `data`, because its bytes are compared. */
export function splitBody(body: string): {
  readonly eventId: string
  readonly data: string
  readonly reference: string
} {
  const match = head.exec(body)
  const data = match ? body.slice(match[0].length, -1) : ''
  return { eventId: match?.[1] ?? '', data, reference: /"reference":"([^"]*)"/.exec(data)?.[1] ?? '' }
}

/**
 * Arrivals per second, for `seconds` or until the last arrival. Starts at the first arrival, or `settleMs` later if enough
 * follow.
 */
export function rateOf(received: readonly ReceivedRequest[], seconds: number, settleMs = 0): number {
  const times = Float64Array.from(received, ({ atMs }) => atMs).toSorted()
  const [first, last] = [times[0] ?? 0, times.at(-1) ?? 0]
  const begin = last - first > 2 * settleMs ? first + settleMs : first
  const end = Math.min(begin + seconds * 1000, last)
  const counted = times.filter((at) => at > begin && at <= end).length
  return counted / ((end - begin) / 1000)
}

export function percentile(values: readonly number[], share: number): number {
  const sorted = Float64Array.from(values).toSorted()
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}
