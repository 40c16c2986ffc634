/** Distributed traces (W3C Trace Context), off unless an operator names a collector. `observability/tracing.ts` makes them. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean>>

export type SpanOptions = {
  readonly name: string
  readonly kind: 'server' | 'client'
  readonly attributes?: SpanAttributes
  /** Headers of an incoming request; their `traceparent` is the parent. Without it, the active span is. */
  readonly incoming?: Readonly<Record<string, unknown>>
}

export type Tracing = {
  /** Runs `work` in a span. `work` may add attributes. A rejection marks the span as failed. */
  readonly span: <T>(
    options: SpanOptions,
    work: (add: (attributes: SpanAttributes) => void) => Promise<T>,
  ) => Promise<T>
  /** Records a span that has just ended. */
  readonly ended: (name: string, durationMs: number, attributes: SpanAttributes) => void
  /** The headers that continue the active span in another process. */
  readonly outgoingHeaders: () => Readonly<Record<string, string>>
  /** Sends the spans that are not sent yet. */
  readonly close: () => Promise<void>
}
