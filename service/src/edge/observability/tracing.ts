/** Traces by the OpenTelemetry SDK, sent to an OTLP collector over HTTP (`OTEL_EXPORTER_OTLP_ENDPOINT`). */
import {
  context,
  defaultTextMapGetter,
  defaultTextMapSetter,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import { W3CTraceContextPropagator } from '@opentelemetry/core'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { resourceFromAttributes } from '@opentelemetry/resources'
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  TracerProvider,
  TraceIdRatioBasedSampler,
} from '@opentelemetry/sdk-trace'
import { secondMs, systemClock, type Tracing } from '../../kernel/index.ts'

const kinds = { server: SpanKind.SERVER, client: SpanKind.CLIENT } as const

/** Creates the tracing. `ratio`: the sampled share of new traces. A request with a `traceparent` follows its caller's decision. */
export function createTracing(endpoint: string, role: string, ratio: number): Tracing {
  const exporter = new OTLPTraceExporter({ url: `${endpoint.replace(/\/$/, '')}/v1/traces` })
  const processor = new BatchSpanProcessor({ exporter, scheduledDelayMillis: secondMs })
  const provider = new TracerProvider({
    resource: resourceFromAttributes({ 'service.name': 'partner-payments', 'service.instance.role': role }),
    spanProcessors: [processor],
    sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(ratio) }),
  })
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable())
  const propagator = new W3CTraceContextPropagator()
  const tracer = provider.getTracer('partner-payments')
  return {
    span: ({ name, kind, attributes = {}, incoming }, work) => {
      const active = context.active()
      const parent = incoming === undefined ? active : propagator.extract(active, incoming, defaultTextMapGetter)
      const span = tracer.startSpan(name, { kind: kinds[kind], attributes }, parent)
      return context.with(trace.setSpan(parent, span), async () => {
        try {
          return await work((more) => void span.setAttributes(more))
        } catch (error) {
          // Only the name: the message of an error may contain a value of a partner.
          span.setStatus({ code: SpanStatusCode.ERROR, message: error instanceof Error ? error.name : 'error' })
          throw error
        } finally {
          span.end()
        }
      })
    },
    ended: (name, durationMs, attributes) => {
      const endTime = systemClock.now()
      const startTime = new Date(endTime.getTime() - durationMs)
      tracer.startSpan(name, { kind: SpanKind.CLIENT, attributes, startTime }).end(endTime)
    },
    outgoingHeaders: () => {
      const headers: Record<string, string> = {}
      propagator.inject(context.active(), headers, defaultTextMapSetter)
      return headers
    },
    close: () => provider.shutdown(),
  }
}
