/**
 * Files that a link leads to: `GET /reports/{token}`, without a signature, because the token is the credential. It is served
 * by every form of the gateway that answers partners, and says nothing about a token that it does not know.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Content } from '../api/index.ts'
import type { Clock, Log } from '../kernel/index.ts'
import type { AdmissionControl } from './admission.ts'
import { contentReply } from './content.ts'
import { startDeadline } from './deadline.ts'
import { toProblem } from './problems.ts'
import { createRateLimiter } from './rate.ts'

export type Downloads = {
  /** Refuses: not_found, report_not_ready. */
  readonly open: (token: string) => Promise<Content>
}

/** A token of 256 random bits is not guessed; the limit keeps those who try from using the database. */
const rate = { perSecond: 5, burst: 20 }

type Options = {
  readonly admission: AdmissionControl
  readonly clock: Clock
  readonly log: Log
  readonly requestTimeoutMs: number
}

export function mountDownloads(app: FastifyInstance, { open }: Downloads, options: Options): void {
  const { admission, clock, log, requestTimeoutMs } = options
  const limit = createRateLimiter({ ...rate, clock })
  const answer = async (request: FastifyRequest) => {
    limit.take(request.ip)
    const release = admission.admit()
    const { token } = request.params as { readonly token: string }
    const content = await startDeadline(requestTimeoutMs)(open(token).finally(release))
    return contentReply(content, request.headers)
  }
  app.get('/reports/:token', async (request: FastifyRequest, reply: FastifyReply) => {
    const context = { requestId: request.id, instance: '/reports', log: log.child({ requestId: request.id }) }
    const { status, headers, body } = await answer(request).catch((error: unknown) => toProblem(error, context))
    void reply
      .code(status)
      .headers({
        'x-request-id': request.id,
        'cache-control': 'no-store',
        // The link is a credential: no page that the file leads to may learn it.
        'referrer-policy': 'no-referrer',
        'x-content-type-options': 'nosniff',
        'x-robots-tag': 'noindex',
        ...headers,
      })
      .send(body)
    return reply
  })
}
