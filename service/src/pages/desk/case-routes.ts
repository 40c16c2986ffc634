/** The queue and the decisions about cases. Two persons who signed in decide one. */
import { type PublicRequest, type PublicRoute, Refusal, notFound } from '../../api/index.ts'
import { caseActions, type CaseRow } from '../../cases/index.ts'
import { amountText } from '../../kernel/index.ts'
import { decidesCases, type SignedStaff } from '../../modules/staff/index.ts'
import { type Form, page, readForm, seeOther, uuid } from '../console/request.ts'
import type { ConsoleView } from '../console/view.ts'
import { casePage, type DeskCase, queuePage } from './case-pages.ts'
import { afterOf, type DeskFrame, keyOf, noteOf, withStaff } from './request.ts'

const casesShown = 50

const toCase = ({ partnerId, id, kind, openedAt, booked, currency, proposedBy }: CaseRow): DeskCase => ({
  partnerId,
  id,
  kind,
  openedAt,
  money: booked === null || currency === null ? null : `${amountText(booked, currency)} ${currency}`,
  proposedBy,
})

export function caseRoutes(frame: DeskFrame): readonly PublicRoute[] {
  const { db, cases, decisions, staff } = frame
  const show = async (request: PublicRequest, view: ConsoleView, signed: SignedStaff, error?: string) => {
    const { partnerId, id } = keyOf(request)
    const row = await cases.byId(db, partnerId, id)
    if (row === undefined) throw notFound('case')
    const history = await decisions.history(db, partnerId, id)
    const proposal = row.proposal === null ? null : (JSON.parse(row.proposal) as { action: string; note: string })
    const body = casePage(view, {
      ...toCase(row),
      report: JSON.stringify(JSON.parse(row.report), null, 2),
      proposal: proposal && { ...proposal, id: row.proposalId ?? '' },
      ended: row.resolution === null ? null : { resolution: row.resolution, by: row.resolvedBy ?? '' },
      decisions: history.map(({ decidedAt: at, actor, kind, note }) => ({ at, actor, kind, note })),
      actions: caseActions.filter((action) => (action === 'note') === (row.booked === null)),
      mayDecide: decidesCases(signed.account.role),
      typed: readForm(request),
      ...(error === undefined ? {} : { error }),
    })
    return page(request, error === undefined ? 200 : 400, body)
  }
  const form = (
    name: string,
    act: (signed: SignedStaff, key: ReturnType<typeof keyOf>, form: Form) => Promise<unknown>,
  ): PublicRoute => ({
    method: 'POST',
    path: `/desk/cases/{partnerId}/{id}/${name}`,
    handle: (request) =>
      withStaff(frame, request, 'queue', async ({ signed, view }) => {
        const key = keyOf(request)
        try {
          await act(signed, key, readForm(request))
          return seeOther(`../${key.id}`)
        } catch (error) {
          if (!(error instanceof Refusal) || error.code === 'permission_denied') throw error
          return show(request, view, signed, error.detail)
        }
      }),
  })
  return [
    {
      method: 'GET',
      path: '/desk/queue',
      handle: (request) =>
        withStaff(frame, request, 'queue', async ({ view }) => {
          const rows = await cases.list(afterOf(request), casesShown + 1)
          const shown = rows.slice(0, casesShown)
          const last = rows.length > casesShown ? shown.at(-1) : undefined
          const next = last === undefined ? null : `queue?at=${last.openedAt.toISOString()}&after=${last.id}`
          return page(request, 200, queuePage(view, { cases: shown.map(toCase), next }))
        }),
    },
    {
      method: 'GET',
      path: '/desk/cases/{partnerId}/{id}',
      handle: (request) => withStaff(frame, request, 'queue', ({ view, signed }) => show(request, view, signed)),
    },
    form('propose', (signed, key, given) => staff.propose(signed, { ...key, ...proposalOf(given) })),
    form('approve', (signed, key, given) => staff.approve(signed, { ...key, proposalId: given('proposal') })),
    form('reject', (signed, key, given) => staff.reject(signed, { ...key, note: noteOf(given) })),
  ]
}

function proposalOf(given: Form) {
  const action = caseActions.find((each) => each === given('action'))
  if (action === undefined) throw new Refusal('validation_failed', 'Choose an action.')
  const ids = {
    payoutId: given('payout').trim(),
    customerId: given('customer').trim(),
    toPartnerId: given('toPartner').trim(),
  }
  for (const id of [ids.payoutId, ids.toPartnerId])
    if (id !== '' && !uuid.test(id)) throw new Refusal('validation_failed', 'An ID must be a UUID in lower case.')
  const named: { payoutId?: string; customerId?: string; toPartnerId?: string } = Object.fromEntries(
    Object.entries(ids).filter(([, id]) => id !== ''),
  )
  return { action, note: noteOf(given), ...named }
}
