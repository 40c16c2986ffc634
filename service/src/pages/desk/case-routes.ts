/** The queue and the decisions about cases. Two persons who signed in decide one. */
import { ownJson } from '@partner-payments/wire'
import type { Html } from '../html.ts'
import { notFound, type PublicRequest, type PublicRoute, Refusal } from '../../kernel/api/index.ts'
import { caseActions, type CaseRow, reportOf } from '../../cases/index.ts'
import { amountText } from '../../kernel/index.ts'
import { decidesCases, type SignedStaff } from '../../people/staff/index.ts'
import { type Form, page, readForm, seeOther, uuid } from '../kit/request.ts'
import { casePage } from './case-pages.ts'
import { type DeskCase, queuePage, type QueueTab, queueTabs, type WaitingShown } from './queue-pages.ts'
import { refusalText } from './owner-parts.ts'
import { afterOf, type DeskFrame, keyOf, noteOf, type Person, personOf, withStaff } from './request.ts'
import { withOwners } from './things.ts'
import { createWaiting, type WaitingLook } from './waiting.ts'

const casesShown = 50

const toCase = ({
  partnerId,
  id,
  kind,
  openedAt,
  booked,
  currency,
  proposedBy,
  ownerId,
  ownerName,
}: CaseRow): DeskCase => ({
  partnerId,
  id,
  kind,
  openedAt,
  money: booked === null || currency === null ? null : `${amountText(booked, currency)} ${currency}`,
  proposedBy,
  owner: ownerId === null ? null : { id: ownerId, fullName: ownerName ?? '' },
})

async function showCase(frame: DeskFrame, request: PublicRequest, { view, signed }: Person, error?: string | Html) {
  const { db, cases, decisions, monitoring, staff, reconciliation } = frame
  const { partnerId, id } = keyOf(request)
  const row = await cases.byId(db, partnerId, id)
  if (row === undefined) throw notFound('case')
  const history = await decisions.history(db, partnerId, id)
  const proposal = row.proposal === null ? null : ownJson<{ action: string; note: string }>(row.proposal)
  const candidates = await reconciliation.candidates(db, row)
  const standing = row.kind === 'monitoring_alert' ? await monitoring.standingOf(db, partnerId, id) : null
  const related = await cases.about(db, partnerId, [row.subject])
  const body = casePage(view, {
    ...toCase(row),
    candidates: candidates.map(({ candidate: { amount, currency, kind, ...found }, score, agreed }) => ({
      ...{ kind, partnerId: found.partnerId, id: found.id, status: found.status, on: found.on, score },
      money: amount === null ? null : `${amountText(amount, currency)} ${currency}`,
      agreed: agreed.map(({ what }) => what),
    })),
    refunds: await refundsOf(frame, row),
    mayRecall: frame.changes.mayDecide('payment recall', signed.account.role),
    standing,
    related: related.filter((each) => each.id !== id),
    people: await staff.list(db),
    readerId: signed.account.id,
    report: JSON.stringify(ownJson<object>(row.report), null, 2),
    proposal: proposal && { ...proposal, id: row.proposalId ?? '' },
    ended: row.resolution === null ? null : { resolution: row.resolution, by: row.resolvedBy ?? '' },
    decisions: history.map(({ decidedAt: at, actor, kind, note }) => ({ at, actor, kind, note })),
    actions: caseActions.filter((action) =>
      action === 'refuse' ? standing !== null && standing.waiting > 0n : (action === 'note') === (row.booked === null),
    ),
    mayDecide: decidesCases(signed.account.role),
    typed: readForm(request),
    ...(error === undefined ? {} : { error }),
  })
  return page(request, error === undefined ? 200 : 400, body)
}

export function caseRoutes(frame: DeskFrame): readonly PublicRoute[] {
  const { staff } = frame
  const form = (
    name: string,
    act: (signed: SignedStaff, key: ReturnType<typeof keyOf>, form: Form) => Promise<unknown>,
  ): PublicRoute => ({
    method: 'POST',
    path: `/desk/cases/{partnerId}/{id}/${name}`,
    handle: (request) =>
      withStaff(frame, request, 'queue', async (person) => {
        const key = keyOf(request)
        try {
          await act(person.signed, key, readForm(request))
          return seeOther(`../${key.id}`)
        } catch (error) {
          if (!(error instanceof Refusal) || error.code === 'permission_denied') throw error
          return showCase(frame, request, person, refusalText(person.view, error))
        }
      }),
  })
  return [
    queueRoute(frame),
    {
      method: 'GET',
      path: '/desk/cases/{partnerId}/{id}',
      handle: (request) => withStaff(frame, request, 'queue', (person) => showCase(frame, request, person)),
    },
    form('assign', (signed, key, given) =>
      staff.assignCase(signed, { ...key, ownerId: personOf(given('owner')), seen: personOf(given('seen')) }),
    ),
    form('remark', (signed, key, given) => staff.remarkCase(signed, { ...key, note: noteOf(() => given('remark')) })),
    form('propose', (signed, key, given) => staff.propose(signed, { ...key, ...proposalOf(given) })),
    form('approve', (signed, key, given) => staff.approve(signed, { ...key, proposalId: given('proposal') })),
    form('recall', (signed, key, given) => recall(frame, signed, key, given('payout'))),
    form('reject', (signed, key, given) => staff.reject(signed, { ...key, note: noteOf(given) })),
  ]
}

/** Asks the bank of a refund that a case names for its money. A person has seen the case: the payer has the money twice. */
const recall = (
  { changes }: DeskFrame,
  { account }: SignedStaff,
  { partnerId: partner, id }: ReturnType<typeof keyOf>,
  payout: string,
) => {
  const note = `Case ${id}: the bank has taken back the payment of this refund.`
  return changes.run(account, 'payment recall', { partner, payout, reason: 'DUPL', note })
}

/** The refunds that a case names, as they are now. */
async function refundsOf({ payouts }: DeskFrame, row: CaseRow) {
  const shown = []
  for (const { payoutId: id } of reportOf(row).refunds ?? []) {
    const [found] = await payouts.find(row.partnerId, { id }, 1)
    if (found === undefined) continue
    const { status, amount, currency } = found.payout
    const money = `${amountText(amount, currency)} ${currency}`
    shown.push({ payoutId: id, status, money, isPaid: status === 'Completed' })
  }
  return shown
}

const queueRoute = (frame: DeskFrame, look = createWaiting(frame)): PublicRoute => ({
  method: 'GET',
  path: '/desk/queue',
  handle: (request) =>
    withStaff(frame, request, 'queue', async ({ view, signed }) => {
      const { db, cases } = frame
      const asked = new URLSearchParams(request.query).get('show')
      const tab = queueTabs.find((each) => each === asked) ?? 'all'
      const owned = tab === 'all' ? 'any' : tab === 'mine' ? { ownerId: signed.account.id } : 'unowned'
      const after = afterOf(request)
      const rows = await cases.list(after, casesShown + 1, db, owned)
      const shownRows = rows.slice(0, casesShown)
      const notes = await lastNotes(frame, shownRows)
      const last = rows.length > casesShown ? shownRows.at(-1) : undefined
      const query = (more: Readonly<Record<string, string>>) =>
        `queue?${new URLSearchParams({ show: tab, ...more }).toString()}`
      const shown = shownRows.map((row) => ({ ...toCase(row), lastNote: notes.get(row.id) ?? null }))
      const next = last && query({ at: last.openedAt.toISOString(), after: last.id })
      const waiting = await waitingOn(frame, look, tab, signed)
      const things = typeof waiting === 'string' ? [] : waiting
      const names = await frame.access.namesOf(
        db,
        [...shown, ...things].map(({ partnerId }) => partnerId),
      )
      return page(request, 200, queuePage(view, { cases: shown, tab, waiting, names, next, first: after && query({}) }))
    }),
})

/** Reads what waits besides cases on a tab. Owners and notes are those of this moment, also where the look is older. */
async function waitingOn(
  { db, staff, waiting }: DeskFrame,
  look: () => Promise<WaitingLook>,
  tab: QueueTab,
  { account }: SignedStaff,
): Promise<WaitingShown> {
  if (tab === 'mine') {
    const own = await staff.assignments.ownedBy(account.id)
    return withOwners(await waiting.of(own), own)
  }
  const found = await look()
  if (typeof found === 'string') return found
  const things = withOwners(found, await staff.assignments.of(db, found))
  return tab === 'all' ? things : things.filter(({ owner }) => owner === null)
}

/** The last note of each case: one statement for each partner on the page. */
async function lastNotes({ db, cases }: DeskFrame, rows: readonly CaseRow[]): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>()
  for (const [partnerId, some] of Map.groupBy(rows, (row) => row.partnerId)) {
    const ids = some.map(({ id }) => id)
    for (const { caseId, note } of await cases.lastRemarks(db, partnerId, ids)) found.set(caseId, note)
  }
  return found
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
