/**
 * Files behind a link: `GET /reports/{token}`, without a signature, because the token is the credential. Every form of
 * the gateway that serves partners has this route. Its answer reveals nothing about an unknown token.
 */
import type { FastifyInstance } from 'fastify'
import type { Content } from '../api/index.ts'
import type { Clock } from '../kernel/index.ts'
import type { AdmissionControl } from './admission.ts'
import { contentReply } from './content.ts'
import { startDeadline } from './deadline.ts'
import { toProblem } from './problems.ts'
import { createRateLimiter } from './rate.ts'
import { answering, type RawRequest, type Reply, type ServerOptions } from './server.ts'

export type Downloads = {
  /** Refuses: not_found, report_not_ready. */
  readonly open: (token: string) => Promise<Content>
}

/** A token of 256 random bits cannot be guessed; the limit keeps attempts from loading the database. */
const rate = { perSecond: 5, burst: 20 }

type Options = Pick<ServerOptions, 'log' | 'observe' | 'tracing'> & {
  readonly admission: AdmissionControl
  readonly clock: Clock
  readonly requestTimeoutMs: number
}

/**
 * The link is a credential: the file sends no referrer to pages that it links to, and no problem body repeats the link.
 */
const linkHeaders = {
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-robots-tag': 'noindex',
}

export function mountDownloads(app: FastifyInstance, { open }: Downloads, options: Options): void {
  const { admission, clock, log, requestTimeoutMs } = options
  const limit = createRateLimiter({ ...rate, clock })
  const download = async ({ ip, params, headers }: RawRequest): Promise<Reply> => {
    limit.take(ip)
    const release = admission.admit()
    const content = await startDeadline(requestTimeoutMs)(open(params['token'] ?? '').finally(release))
    return contentReply(content, headers)
  }
  // Logged and counted like a page, without its path.
  const handle = answering(options, 'page', async (request) => {
    const { requestId } = request
    const context = { requestId, instance: '/reports', log: log.child({ requestId }) }
    const reply = await download(request).catch((error: unknown): Reply => toProblem(error, context))
    return { ...reply, headers: { ...linkHeaders, ...reply.headers } }
  })
  app.get('/reports/:token', handle)
}
