/** A payout at the desk, read by the commands that print it. Two persons end one; the log of the operator has who opened which. */
import { notFound, type PublicAnswer, type PublicRequest, type PublicRoute, Refusal } from '../../kernel/api/index.ts'
import type { SignedStaff } from '../../people/staff/index.ts'
import { type Form, page, readForm, seeOther } from '../kit/request.ts'
import type { ConsoleView } from '../kit/frame.ts'
import { type BankFacts, paymentOutcomes, type PayoutFacts, payoutPage } from './payout-pages.ts'
import { payoutTexts } from './payout-texts.ts'
import { type DeskFrame, keyOf, noteOf, type Person, staffRoute } from './request.ts'
import { readThing } from './thing-routes.ts'

export const payoutRoutes = (frame: DeskFrame): readonly PublicRoute[] => [
  staffRoute(frame, 'find', 'GET', '/payouts/{partnerId}/{id}', (request, person) => show(frame, request, person)),
  acting(frame, 'retry', async (signed, about) => {
    await frame.changes.run(signed.account, 'payment retry', about)
    return 'retried'
  }),
  acting(frame, 'end', async (signed, about, form, view) => {
    const { waits } = await frame.changes.run(signed.account, 'payment end', { ...about, ...endOf(form, view) })
    return waits === undefined ? undefined : 'waits'
  }),
]

const acting = (
  frame: DeskFrame,
  name: 'retry' | 'end',
  act: (
    signed: SignedStaff,
    about: { readonly partner: string; readonly payout: string },
    form: Form,
    view: ConsoleView,
  ) => Promise<'retried' | 'waits' | undefined>,
): PublicRoute =>
  staffRoute(frame, 'find', 'POST', `/payouts/{partnerId}/{id}/${name}`, async (request, person) => {
    const { partnerId, id } = keyOf(request)
    const { view, signed } = person
    if (signed.session.rested) return seeOther(`${view.root}sign-in`)
    const form = readForm(request)
    try {
      const said = await act(signed, { partner: partnerId, payout: id }, form, view)
      return seeOther(said === undefined ? `../${id}` : `../${id}?said=${said}`)
    } catch (error) {
      if (!(error instanceof Refusal) || error.code === 'permission_denied') throw error
      return show(frame, request, person, { error: error.detail, form })
    }
  })

/** The options of `payment end`. The evidence is a name and a digest, never a path that the server would read. Refuses: validation_failed. */
function endOf(form: Form, view: ConsoleView) {
  const outcome = paymentOutcomes.find((each) => each === form('outcome'))
  const [document, digest] = [form('document').trim(), form('digest').trim().toLowerCase()]
  const isNamed = document !== '' && document.length <= documentCharsMax
  if (outcome === undefined || !isNamed || !/^[0-9a-f]{64}$/.test(digest))
    throw new Refusal('validation_failed', payoutTexts[view.language].digestWrong)
  return { outcome, evidence: `${document} sha256:${digest}`, note: noteOf(form) }
}
const documentCharsMax = 140

async function show(
  frame: DeskFrame,
  request: PublicRequest,
  { view, signed }: Person,
  refused?: { readonly error: string; readonly form: Form },
): Promise<PublicAnswer> {
  const { db, cases, changes, payouts, staff } = frame
  const { partnerId, id } = keyOf(request)
  const [found] = await payouts.find(partnerId, { id }, 1)
  if (found === undefined) throw notFound('payout')
  // Banks and candidates name the instruction.
  if (found.payout.id !== id) return seeOther(found.payout.id)
  await staff.recordPayout(signed, { payouts: [`${partnerId}/${id}`] })
  const read = (await changes.read('payment find', { partner: partnerId, id })) as { payments: readonly PayoutFacts[] }
  const [payout] = read.payments
  if (payout === undefined) throw notFound('payout')
  const decision = (await payouts.decisionsOf(partnerId, [found.payout])).get(id)
  const about = [id, payout.instructionId, payout.endToEndId, payout.reference]
  const said = new URLSearchParams(request.query).get('said')
  const body = payoutPage(view, {
    payout,
    bank: await atBank(frame, partnerId, id),
    approval: decision && { decision: decision.decision, by: decision.decidedName, at: decision.decidedAt },
    cases: await cases.about(db, partnerId, about),
    thing: await readThing(frame, signed, { partnerId, kind: 'payout', subject: id }),
    mayAct: changes.mayDecide('payment end', signed.account.role),
    said: said === 'waits' || said === 'retried' ? said : undefined,
    error: refused?.error,
    typed: refused?.form ?? (() => ''),
  })
  return page(request, refused === undefined ? 200 : 400, body)
}

/** Undefined: no file-based bank has it. */
async function atBank({ changes }: DeskFrame, partner: string, payout: string): Promise<BankFacts | undefined> {
  try {
    return (await changes.read('bank payment', { partner, payout })) as BankFacts
  } catch (error) {
    if (error instanceof Refusal) return undefined
    throw error
  }
}
