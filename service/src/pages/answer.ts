/** The headers and the encoding of answers to browsers. */
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import { type Encoding, notFound, type PublicAnswer, type PublicRoute } from '../kernel/api/index.ts'

/** Policy without inline content, other hosts or frames. The browser test fails if it blocks anything of the pages. */
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

/** `quick`: for a page that is written for one request. `small`: for a file that is compressed once. */
const brotliQuality = { quick: 5, small: constants.BROTLI_MAX_QUALITY } as const

/** Answers addresses that show nothing, such as that of a form after a reload, with a page instead of a problem as JSON. */
export const unknownPage = (path: string): PublicRoute => ({
  method: 'GET',
  path,
  handle: () => {
    throw notFound('page')
  },
})

type Text = PublicAnswer<string | Buffer>

export function compressed(answer: Text, encoding: Encoding, effort: keyof typeof brotliQuality): Text {
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
