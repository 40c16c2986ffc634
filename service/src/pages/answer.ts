/** The headers and the encoding of answers to browsers. */
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import { type Encoding, notFound, type PublicAnswer, type PublicRoute } from '../kernel/api/index.ts'

/** The policy forbids inline content, other hosts and frames. The browser test fails if it blocks a part of a page. */
const contentSecurityPolicy = [
  "default-src 'none'",
  "style-src 'self'",
  "script-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
].join('; ')

/** The address of a page contains its credential: no cache, no referrer and no search engine may keep it. */
export const pageHeaders: Readonly<Record<string, string>> = {
  'content-security-policy': contentSecurityPolicy,
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-robots-tag': 'noindex, nofollow',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'clipboard-write=(self), camera=(), geolocation=(), microphone=()',
}

/** `quick` compresses the page of one request. `small` compresses a file once for all requests. */
const brotliQuality = { quick: 5, small: constants.BROTLI_MAX_QUALITY } as const

/** Answers unknown addresses, such as that of a reloaded form, with a page instead of a problem as JSON. */
export const notFoundRoute = (path: string): PublicRoute => ({
  method: 'GET',
  path,
  handle: () => {
    throw notFound('page')
  },
})

type TextAnswer = PublicAnswer<string | Buffer>

export function compressAnswer(answer: TextAnswer, encoding: Encoding, effort: keyof typeof brotliQuality): TextAnswer {
  const body = Buffer.from(answer.body)
  const headers = { ...answer.headers, vary: 'accept-encoding, accept-language' }
  if (encoding === 'identity') return { ...answer, headers, body }
  const params = { [constants.BROTLI_PARAM_QUALITY]: brotliQuality[effort] }
  return {
    ...answer,
    headers: { ...headers, 'content-encoding': encoding },
    body: encoding === 'br' ? brotliCompressSync(body, { params }) : gzipSync(body),
  }
}
