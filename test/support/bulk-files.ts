/** The pages of a file of payouts, called in this process as a person who is signed in. */
import type { Caller } from '../../service/src/kernel/api/index.ts'
import { auditedHandlers } from '../../service/src/audit/index.ts'
import { createOperate } from '../../service/src/edge/gateway/index.ts'
import { newId } from '../../service/src/kernel/index.ts'
import { bulkDraftRoutes } from '../../service/src/pages/console/bulk-drafts.ts'
import { beneficiariesRoutes } from '../../service/src/parties/beneficiaries/index.ts'
import { bulkPayoutsRoutes } from '../../service/src/payouts/bulk/index.ts'
import { ip, type Service } from './composition.ts'
import { viewOf } from './console-pages.ts'

/** `show` returns the page of a file, or the address of the bulk that was made of it. `send` presses its button. */
export async function openBulkFiles(service: Service, caller: Caller) {
  const { clock, idempotency, uploads, bulkPayouts } = service
  const handlers = { ...beneficiariesRoutes(service.beneficiaries, idempotency), ...bulkPayoutsRoutes(bulkPayouts) }
  const inProcess = {
    handlers: auditedHandlers(idempotency.keepAnswers(handlers as never), service.audit),
    ...{ clock, sandbox: true, itemRate: { perSecond: 10_000, burst: 10_000 } },
  }
  const person = { caller, user: { id: caller.serviceAccountId }, view: viewOf('en') }
  const withMoney = async (_request: unknown, answer: (given: never) => unknown) => answer(person as never)
  const frame = { ...(await createOperate(inProcess)), uploads, bulkPayouts, clock, withMoney }
  const routes = bulkDraftRoutes(frame as never)
  const call = async (method: string, path: string, id: string, fields: Readonly<Record<string, string>> = {}) => {
    const route = routes.find(
      (each) => each.method === method && each.path === `/console/bulk-payouts/drafts/{id}${path}`,
    )
    if (route === undefined) throw new Error(`no route ${method} ${path}`)
    const answer = await route.handle({
      ...{ path: `/console/bulk-payouts/drafts/${id}${path}`, params: { id }, query: '', headers: {}, ip },
      ...{ body: Buffer.from(new URLSearchParams(fields).toString()), requestId: newId() },
    })
    return { page: String(answer.body), leadsTo: answer.headers?.['location'] }
  }
  const field = (page: string, name: string) => new RegExp(`name="${name}" value="([^"]*)"`).exec(page)?.[1] ?? ''
  const show = (id: string) => call('GET', '', id)
  const send = async (id: string) => {
    const shown = await show(id)
    if (shown.leadsTo !== undefined) return shown
    const fields = { revision: field(shown.page, 'revision'), seen: field(shown.page, 'seen') }
    return call('POST', '/send', id, { ...fields, again: 'yes' })
  }
  return { show, send, keep: (draft: object) => uploads.keep({ caller }, 'Bulk', draft) }
}
