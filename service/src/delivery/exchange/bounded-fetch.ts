/** Sends single HTTP requests and reads their answers whole, within limits of time and size. */
import { createRequire } from 'node:module'
import type * as undici from 'undici'
import { secondMs } from '../../kernel/index.ts'
import { createGuard, type GuardOptions, systemResolve } from './guard.ts'

const timeoutMs = 10 * secondMs
const connectTimeoutMs = 5 * secondMs
const bytesMax = 1024 * 1024

export type BoundedRequest = {
  readonly method: string
  readonly headers: Record<string, string>
  readonly body?: string | Uint8Array | ArrayBuffer | URLSearchParams | ReadableStream | null | undefined
  readonly signal?: AbortSignal | undefined
}

const require = createRequire(import.meta.url)

/**
 * Makes a `fetch` that no server keeps open or fills memory with, and that follows no redirect. With a guard it reaches public addresses
 * only, as webhooks do: partners have chosen the address. Rejects with a TypeError or a TimeoutError.
 */
export function createBoundedFetch(guard?: Pick<GuardOptions, 'allowLoopback' | 'proxy'>) {
  let agent: undici.Agent | undefined
  const connect = guard && createGuard({ ...guard, resolve: systemResolve, connectTimeoutMs }).connect
  return async (url: string, { method, headers: sent, body = null, signal }: BoundedRequest): Promise<Response> => {
    const { Agent, fetch } = require('undici') as typeof undici
    agent ??= new Agent({ allowH2: false, keepAliveTimeout: secondMs, ...(connect && { connect }) })
    const response = await fetch(url, {
      ...{ method, headers: sent, redirect: 'manual', dispatcher: agent, body },
      signal: AbortSignal.any([AbortSignal.timeout(timeoutMs), ...(signal ? [signal] : [])]),
    })
    const chunks: Uint8Array[] = []
    let bytes = 0
    for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
      bytes += chunk.length
      if (bytes > bytesMax) throw new TypeError(`the answer has more than ${bytesMax} bytes`)
      chunks.push(chunk)
    }
    const { status, headers } = response
    return new Response(bytes === 0 ? null : Buffer.concat(chunks), { status, headers: [...headers] })
  }
}
