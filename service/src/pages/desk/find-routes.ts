/** The search across partners. Every role of staff searches, and the log of the operator has what each one found. */
import type { PublicRoute } from '../../kernel/api/index.ts'
import { page, readForm } from '../kit/request.ts'
import { find, readQuestion } from './find.ts'
import { findPage } from './find-pages.ts'
import { type DeskFrame, staffRoute } from './request.ts'

export function findRoutes(frame: DeskFrame): readonly PublicRoute[] {
  return [
    staffRoute(frame, 'find', 'GET', '/find', (request, { view }) => page(request, 200, findPage(view, { typed: '' }))),
    // What is typed may be an IBAN: the text of an address would stay in logs of proxies and in the history of the browser.
    staffRoute(frame, 'find', 'POST', '/find', async (request, { signed, view }) => {
      const typed = readForm(request)('q')
      const question = readQuestion(typed)
      if (question === undefined) return page(request, 400, findPage(view, { typed, isRefused: true }))
      const found = await find(frame, question)
      const idOf = ({ partnerId, id }: { readonly partnerId: string; readonly id: string }) => `${partnerId}/${id}`
      await frame.staff.recordSearch(signed, {
        by: question.by,
        payouts: found.payouts.map(idOf),
        customers: found.customers.map(idOf),
        payees: found.payees.map(idOf),
        deposits: found.deposits.map(idOf),
      })
      return page(request, 200, findPage(view, { typed, found }))
    }),
  ]
}
