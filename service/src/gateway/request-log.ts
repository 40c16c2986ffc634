/**
 * Selects what the request log gets of an answer of this process. If a request was forwarded, the process to which it was
 * forwarded records it.
 */
import type { FastifyRequest } from 'fastify'
import type { RequestRecorder } from '../requests/index.ts'

type Answer = {
  readonly code?: string
  readonly pointer?: string
  readonly headers: Readonly<Record<string, string>>
}
/** `ip`: the address of the client, also if a gateway has forwarded the request. */
type Observed = {
  readonly operation: string
  readonly status: number
  readonly durationMs: number
  readonly ip: string
}

export function logged(
  { id: requestId, method, params, trace: { caller }, headers }: FastifyRequest,
  observed: Observed,
  { code, pointer, headers: { 'idempotent-replayed': replayed } }: Answer,
): Parameters<RequestRecorder['record']> {
  const apiKey = headers['apikey']
  const isKnown = observed.operation !== 'unknown' && observed.operation !== 'page'
  const request = {
    ...{ ...observed, requestId, method, code, pointer, userAgent: headers['user-agent'] },
    params: isKnown ? (params as Readonly<Record<string, string>>) : {},
    replayed: replayed === 'true',
  }
  return [request, { caller, apiKey: typeof apiKey === 'string' ? apiKey : undefined }]
}
