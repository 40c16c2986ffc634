/**
 * Approving and rejecting a payout, or those of a bulk. A person approves by proving a factor again, over a snapshot that is made again
 * when the form comes back: what was signed is what is approved.
 */
import type { PublicAnswer, PublicRequest, PublicRoute } from '../../kernel/api/index.ts'
import { Refusal } from '../../kernel/api/index.ts'
import { amountText } from '../../kernel/index.ts'
import type { BeyondMaximum } from '../../payouts/controls/index.ts'
import type { GivenConfirmation } from '../../people/sign-in/index.ts'
import { approvalPage } from './approval-page.ts'
import { bulkSubject, payoutSubject, type Subject } from './approval-subjects.ts'
import { consoleMessage } from './message-page.ts'
import {
  type Frame,
  idOf,
  page,
  type Person,
  readForm,
  type Routes,
  seeOther,
  sessionCookieOf,
  type WithPerson,
} from './request.ts'

type Errors = Readonly<Record<string, string>>

export const approvalRoutes: Routes = (frame, _withPerson, withMoney) =>
  [payoutSubject(frame), bulkSubject(frame)].flatMap((subject) => routesOf(frame, withMoney, subject))

function routesOf({ signIn }: Frame, withMoney: WithPerson, subject: Subject): readonly PublicRoute[] {
  const { place } = subject
  const show = async (request: PublicRequest, person: Person, errors?: Errors): Promise<PublicAnswer> => {
    const { caller, user, view } = person
    const id = idOf(request)
    const asking = signIn.ask(caller.partnerId, user.id, 'approval')
    const { text, beyond, ...seen } = await subject.see(view, caller, id, asking)
    const shown = {
      ...seen,
      ...{ words: subject.wordsOf(view), path: `${place}/${id}`, nonce: asking.nonce },
      ...(beyond && { beyond: wordsOf(beyond) }),
      passkeyOptions: await signIn.passkeyOptionsFor(caller.partnerId, user.id, text),
      ...(errors && { errors }),
    }
    const status = errors === undefined ? 200 : 400
    return page(request, status, approvalPage({ ...view, current: place }, shown))
  }
  const guarded = createGuard(withMoney, subject)
  const approve = async (request: PublicRequest, person: Person): Promise<PublicAnswer> => {
    const { caller, user, session, view } = person
    const { requestId, ip } = request
    const id = idOf(request)
    const form = readForm(request)
    const given: GivenConfirmation =
      form('credential') === ''
        ? { kind: 'code', code: form('code') }
        : { kind: 'passkey', credential: form('credential') }
    const asking = signIn.readAsking(caller.partnerId, user.id, 'approval', form('nonce'))
    const seen = asking && (await subject.see(view, caller, id, asking))
    const confirmation =
      asking && seen && (await signIn.confirm(caller.partnerId, user.id, { ...asking, text: seen.text }, given))
    if (confirmation === undefined || seen === undefined)
      return show(request, person, { form: subject.wordsOf(view).refused })
    await subject.approve({ caller: { ...caller, confirmation }, requestId, ip }, id, seen)
    const token = await signIn.rotate(caller.partnerId, session.id)
    return seeOther(`../${id}`, sessionCookieOf(token))
  }
  const reject = async (request: PublicRequest, person: Person): Promise<PublicAnswer> => {
    const { caller, view } = person
    const { requestId, ip } = request
    const id = idOf(request)
    try {
      await subject.reject({ caller, requestId, ip }, id, readForm(request))
    } catch (error) {
      if (!(error instanceof Refusal) || error.code !== 'validation_failed') throw error
      return show(request, person, { reason: subject.wordsOf(view).reasonWrong })
    }
    return seeOther(`../${id}`)
  }
  return [
    {
      method: 'GET',
      path: `/console/${place}/{id}/approve`,
      handle: guarded((request, person) => show(request, person)),
    },
    { method: 'POST', path: `/console/${place}/{id}/approve`, handle: guarded(approve) },
    { method: 'POST', path: `/console/${place}/{id}/reject`, handle: guarded(reject) },
  ]
}

/** The amounts of a maximum as the page shows them. */
const wordsOf = ({ currency, most, left, resetsAt }: BeyondMaximum) => ({
  currency,
  most: amountText(most, currency),
  left: amountText(left, currency),
  resetsAt,
})

type Act = (request: PublicRequest, person: Person) => Promise<PublicAnswer>

/** Returns the texts of refusals that end the page: the payout does not wait for this person. */
const createGuard =
  (withMoney: WithPerson, subject: Subject) =>
  (act: Act): PublicRoute['handle'] =>
  (request) =>
    withMoney(request, async (person) => {
      const { view, caller } = person
      const t = subject.wordsOf(view)
      const refuse = (status: number, text: string) => page(request, status, consoleMessage(view, t.title, text))
      if (!caller.permissions.includes('payouts:write')) return refuse(403, t.noPermission)
      try {
        return await act(request, person)
      } catch (error) {
        if (!(error instanceof Refusal)) throw error
        if (error.code === 'approver_is_creator') return refuse(403, t.creator)
        if (error.code === 'approver_limit_exceeded') return refuse(403, t.beyondNow)
        if (error.code === 'payout_not_awaiting_approval') return refuse(409, t.notWaiting)
        if (error.code === 'permission_denied') return refuse(403, error.detail)
        throw error
      }
    })
