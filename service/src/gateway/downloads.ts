/**
 * Files that a link leads to: `GET /reports/{token}`, without a signature, because the token is the credential. It is served
 * by every form of the gateway that answers partners, and says nothing about a token that it does not know.
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

/** A token of 256 random bits is not guessed; the limit keeps those who try from using the database. */
const rate = { perSecond: 5, burst: 20 }

type Options = Pick<ServerOptions, 'log' | 'observe' | 'tracing'> & {
  readonly admission: AdmissionControl
  readonly clock: Clock
  readonly requestTimeoutMs: number
}

/** The link is a credential: no page that the file leads to may learn it, and no problem body repeats it. */
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
  // Logged and counted as a page is, without its path.
  const handle = answering(options, 'page', async (request) => {
    const { requestId } = request
    const context = { requestId, instance: '/reports', log: log.child({ requestId }) }
    const reply = await download(request).catch((error: unknown): Reply => toProblem(error, context))
    return { ...reply, headers: { ...linkHeaders, ...reply.headers } }
  })
  app.get('/reports/:token', handle)
}
