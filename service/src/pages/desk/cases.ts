/** The routes of the queue and of a case. Two people who have signed in decide a case. */
import { ownJson } from '@partner-payments/wire'
import { notFound, type PublicRequest, type PublicRoute, Refusal } from '../../kernel/api/index.ts'
import {
  actionsFor,
  type CaseAction,
  caseActions,
  type CaseKind,
  caseKinds,
  type CaseRow,
  possibleDispositions,
  readCaseReport,
} from '../../cases/index.ts'
import { amountText, uuidPattern } from '../../kernel/index.ts'
import { screenedParties } from '../../payouts/index.ts'
import { type Deciders, kindsDecidedBy, type SignedInStaff } from '../../people/staff/index.ts'
import { pathWithQuery, page, readForm, seeOther, type FieldReader } from '../kit/request.ts'
import type { Html } from '../html.ts'
import { casePage, type CaseView, type CaseStep, caseSteps, type AlertPayouts } from './case-page.ts'
import {
  createWaitingCache,
  type QueueCase,
  queuePage,
  queueTabs,
  type QueueItemsResult,
  type WaitingItems,
} from './queue.ts'
import { readCursor, type DeskFrame, readKey, readNote, type Person, readPersonId, staffRoute } from './request.ts'
import { refusalText, withOwners } from './things.ts'

type Proposal = {
  readonly action: CaseAction
  readonly note: string
  readonly disposition?: string
  readonly staffId?: string
}

const payoutsShown = 20

/** Reads the payouts of an alert, with the oldest of those that it holds. */
async function readAlertPayouts(
  { db, monitoring, payouts }: DeskFrame,
  { partnerId, id }: CaseRow,
): Promise<AlertPayouts> {
  const counts = await monitoring.payoutStanding(db, partnerId, id)
  if (counts.waiting === 0n) return { ...counts, sums: [], payments: [] }
  const { payments, sums } = await monitoring.waitingPayouts(db, partnerId, id, payoutsShown)
  const period = { money: null, from: null, before: null }
  const shown = await Promise.all(
    payments.map(async (payment) => {
      const [found] = await payouts.find(partnerId, { reference: payment.reference, ...period }, 1)
      return { ...payment, payoutId: found?.payout.id, payee: found?.payout.creditorName }
    }),
  )
  return { ...counts, sums, payments: shown }
}

/** Finds the hits that hold a payment: hits on any party of a payout, or on the payer of a deposit. */
async function findHits({ payouts, screening }: DeskFrame, { partnerId, kind, subject, booked }: CaseRow) {
  if (kind !== 'sanctions_hold' || !uuidPattern.test(subject)) return []
  if (booked !== null) return screening.hitsOn(partnerId, [{ partnerId, kind: 'payer', id: subject }])
  const [found] = await payouts.find(partnerId, { id: subject }, 1)
  return found === undefined ? [] : screening.hitsOn(partnerId, screenedParties(found.payout))
}

async function findFile({ bankFiles, db }: DeskFrame, { subject }: CaseRow) {
  return uuidPattern.test(subject) ? bankFiles.byId(db, subject) : undefined
}

type CaseRefusal = { readonly error: string | Html; readonly action?: string }

async function showCase(frame: DeskFrame, request: PublicRequest, { view, signed }: Person, refused?: CaseRefusal) {
  const { access, db, cases, changes, decisions, staff, reconciliation } = frame
  const { partnerId, id } = readKey(request)
  const row = await cases.byId(db, partnerId, id)
  if (row === undefined) throw notFound('case')
  const report = readCaseReport(row)
  const query = new URLSearchParams(request.query)
  const history = await decisions.history(db, partnerId, id)
  const proposal = row.proposal === null ? null : ownJson<Proposal>(row.proposal)
  const candidates = row.booked === null ? [] : await reconciliation.candidates(db, row)
  const related = await cases.about(db, partnerId, [row.subject])
  await frame.screening.lists.recent()
  const decidedKind = row.resolution === null ? await decisions.decidedKind(db, row) : row.kind
  const deciders = (await staff.deciders(db)).find(({ kind }) => kind === decidedKind)
  const actions = actionsFor(row, report.debtor?.account)
  const standing = row.kind === 'monitoring_alert' ? await readAlertPayouts(frame, row) : null
  const fitting = actions.filter((action) => action !== 'refuse' || standing === null || standing.waiting > 0n)
  const asked = refused?.action ?? query.get('do')
  const form = readForm(request)
  const given: Omit<CaseView, 'error'> = {
    ...{ row, report, standing, actions: fitting },
    partnerName: (await access.namesOf(db, [partnerId])).get(partnerId) ?? '',
    proposal: proposal && {
      ...{ id: row.proposalId ?? '', action: proposal.action, note: proposal.note, disposition: proposal.disposition },
      isOwn: proposal.staffId === signed.account.id || row.proposedBy === signed.account.fullName,
    },
    // A single action needs no choice.
    chosen:
      fitting.find((action) => action === asked) ??
      (fitting.length === 1 && proposal === null ? fitting[0] : undefined),
    options: changes.form('case propose'),
    hits: await findHits(frame, row),
    file: await findFile(frame, row),
    candidates: candidates.map(({ candidate: { amount, currency, kind, ...found }, score, agreed }) => ({
      ...{ kind, partnerId: found.partnerId, id: found.id, status: found.status, on: found.on, score },
      money: amount === null ? null : `${amountText(amount, currency)} ${currency}`,
      agreed: agreed.map(({ what }) => what),
    })),
    refunds: await readRefunds(frame, row),
    mayRecall: changes.mayDecide('payment recall', signed.account.role),
    related: related.filter((each) => each.id !== id),
    ...{ people: await staff.list(db), readerId: signed.account.id },
    decisions: history.map(({ decidedAt: at, ...step }) => ({ at, ...step })),
    roles: deciders?.roles ?? [],
    mayDecide: deciders?.roles.includes(signed.account.role) ?? false,
    said: caseSteps.find((each) => each === query.get('said')),
    typed: refused === undefined ? (name) => query.get(name) ?? '' : form,
  }
  const body = casePage(view, refused === undefined ? given : { ...given, error: refused.error })
  return page(request, refused === undefined ? 200 : 400, body)
}

export function caseRoutes(frame: DeskFrame): readonly PublicRoute[] {
  const { staff } = frame
  const form = (
    name: string,
    act: (signed: SignedInStaff, key: ReturnType<typeof readKey>, form: FieldReader) => Promise<CaseStep | undefined>,
  ): PublicRoute =>
    staffRoute(frame, 'queue', 'POST', `/cases/{partnerId}/{id}/${name}`, async (request, person) => {
      const key = readKey(request)
      const given = readForm(request)
      try {
        const said = await act(person.signed, key, given)
        return seeOther(pathWithQuery(`../${key.id}`, { said }))
      } catch (error) {
        if (!(error instanceof Refusal) || error.code === 'permission_denied') throw error
        return showCase(frame, request, person, {
          error: refusalText(person.view, error),
          ...(name === 'propose' ? { action: given('action') } : {}),
        })
      }
    })
  return [
    queueRoute(frame),
    staffRoute(frame, 'queue', 'GET', '/cases/{partnerId}/{id}', (request, person) => showCase(frame, request, person)),
    form('assign', async (signed, key, given) => {
      await staff.assignCase(signed, {
        ...key,
        ownerId: readPersonId(given('owner')),
        seen: readPersonId(given('seen')),
      })
      return undefined
    }),
    form('remark', async (signed, key, given) => {
      await staff.remarkCase(signed, { ...key, note: readNote(() => given('remark')) })
      return undefined
    }),
    form('propose', async (signed, key, given) => {
      const row = await staff.propose(signed, { ...key, ...readProposal(frame, given) })
      return row.resolution === null ? 'proposed' : 'closed'
    }),
    form('approve', async (signed, key, given) => {
      const { waiting } = await frame.monitoring.payoutStanding(frame.db, key.partnerId, key.id)
      const row = await frame.cases.byId(frame.db, key.partnerId, key.id)
      await staff.approve(signed, { ...key, proposalId: given('proposal') })
      // The approval released no payout, because none waited.
      return row?.kind === 'monitoring_alert' && waiting === 0n ? 'closed' : 'approved'
    }),
    form('recall', async (signed, key, given) => {
      await recall(frame, signed, key, given('payout'))
      return 'recalled'
    }),
    form('reject', async (signed, key, given) => {
      await staff.reject(signed, { ...key, note: readNote(given) })
      return 'rejected'
    }),
  ]
}

/** Recalls a refund that a case lists, because the payer has received the money twice. */
const recall = (
  { changes }: DeskFrame,
  { account }: SignedInStaff,
  { partnerId: partner, id }: ReturnType<typeof readKey>,
  payout: string,
) => {
  const note = `Case ${id}: the bank has taken back the payment of this refund.`
  return changes.run(account, 'payment recall', { partner, payout, reason: 'DUPL', note })
}

/** Reads the current state of the refunds that a case lists. */
async function readRefunds({ payouts }: DeskFrame, row: CaseRow) {
  const shown = []
  for (const { payoutId: id } of readCaseReport(row).refunds ?? []) {
    const [found] = await payouts.find(row.partnerId, { id }, 1)
    if (found === undefined) continue
    const { status, amount, currency } = found.payout
    const money = `${amountText(amount, currency)} ${currency}`
    shown.push({ payoutId: id, status, money, isPaid: status === 'Completed' })
  }
  return shown
}

/** Parses the form of a proposal by the declaration of its command. Refuses: validation_failed. */
function readProposal({ changes }: DeskFrame, given: FieldReader) {
  const action = caseActions.find((each) => each === given('action'))
  if (action === undefined) throw new Refusal('validation_failed', 'Choose an action.')
  const typed = Object.fromEntries(
    changes.form('case propose').flatMap(({ name }) => {
      const text = given(name).trim()
      return text === '' || name === 'action' ? [] : [[name, text] as const]
    }),
  )
  const { payout: payoutId, customer: customerId, 'to-partner': toPartnerId, disposition } = typed
  for (const id of [payoutId, toPartnerId])
    if (id !== undefined && !uuidPattern.test(id))
      throw new Refusal('validation_failed', 'An ID must be a lowercase UUID.')
  const known = possibleDispositions(action).find((each) => each === disposition)
  return {
    ...{ action, note: readNote(given) },
    ...(payoutId === undefined ? {} : { payoutId }),
    ...(customerId === undefined ? {} : { customerId }),
    ...(toPartnerId === undefined ? {} : { toPartnerId }),
    ...(known === undefined ? {} : { disposition: known }),
  }
}

const casesShown = 50

/** Reads the filters of the queue: tab, kind, and whether the person may decide it. */
function readFilters({ query }: PublicRequest, decidable: readonly CaseKind[]) {
  const fields = new URLSearchParams(query)
  const tab = queueTabs.find((each) => each === fields.get('show')) ?? 'all'
  const kind = caseKinds.find((each) => each === fields.get('kind'))
  const mine = fields.has('decidable')
  const kinds = kind === undefined ? (mine ? decidable : undefined) : mine && !decidable.includes(kind) ? [] : [kind]
  return { tab, kind, mine, kinds }
}

const isCaseKind = (kind: string): kind is CaseKind => (caseKinds as readonly string[]).includes(kind)

function queueRoute(frame: DeskFrame): PublicRoute {
  const look = createWaitingCache(frame)
  return staffRoute(frame, 'queue', 'GET', '/queue', async (request, { view, signed }) => {
    const { access, clock, db, cases, staff } = frame
    const deciders = await staff.deciders(db)
    const wanted = readFilters(request, kindsDecidedBy(deciders, signed.account.role).filter(isCaseKind))
    const { tab, kind, mine, kinds } = wanted
    const owned = tab === 'all' ? 'any' : tab === 'mine' ? { ownerId: signed.account.id } : 'unowned'
    const after = readCursor(request)
    const rows = await cases.list(after, casesShown + 1, db, { owned, kinds })
    const shownRows = rows.slice(0, casesShown)
    const notes = await readLastNotes(frame, shownRows)
    const last = rows.length > casesShown ? shownRows.at(-1) : undefined
    const query = (more: Readonly<Record<string, string>>) =>
      pathWithQuery('queue', { show: tab, kind, decidable: mine ? 'yes' : undefined, ...more })
    const shown = shownRows.map((row): QueueCase => ({
      row,
      proposed: proposedAction(row),
      lastNote: notes.get(row.id) ?? null,
    }))
    const waiting = kind === undefined ? await readWaiting(frame, look, { tab, mine, deciders }, signed) : []
    const things = typeof waiting === 'string' ? [] : waiting
    const names = await access.namesOf(
      db,
      [...shownRows, ...things].map(({ partnerId }) => partnerId),
    )
    const body = queuePage(view, {
      ...{ cases: shown, tab, kind, mine, waiting, names, now: clock.now() },
      open: await cases.countsOpen(db),
      next: last && query({ at: last.openedAt.toISOString(), after: last.id }),
      first: after && query({}),
    })
    return page(request, 200, body)
  })
}

const proposedAction = ({ proposal }: CaseRow): CaseAction | undefined =>
  proposal === null ? undefined : ownJson<Proposal>(proposal).action

type WaitingFilter = {
  readonly tab: (typeof queueTabs)[number]
  /** True to list only items that the person may decide. */
  readonly mine: boolean
  readonly deciders: readonly Deciders[]
}

/** Reads the items of a tab besides cases. Owners and notes are current, even if the items are cached. */
async function readWaiting(
  { db, staff, waiting }: DeskFrame,
  look: () => Promise<QueueItemsResult>,
  { tab, mine, deciders }: WaitingFilter,
  { account }: SignedInStaff,
): Promise<WaitingItems> {
  const decidesHits = kindsDecidedBy(deciders, account.role).includes('screening_hit')
  const fits = ({ kind }: { readonly kind: string }) => !mine || (kind === 'hit' && decidesHits) || kind === 'change'
  if (tab === 'mine') {
    const own = (await staff.assignments.ownedBy(account.id)).filter(fits)
    return withOwners(await waiting.of(own), own)
  }
  const found = await look()
  if (typeof found === 'string') return found
  const fitting = found.filter(fits)
  const things = withOwners(fitting, await staff.assignments.of(db, fitting))
  return tab === 'all' ? things : things.filter(({ owner }) => owner === null)
}

/** Reads the last note of each case, with one statement for each partner on the page. */
async function readLastNotes({ db, cases }: DeskFrame, rows: readonly CaseRow[]): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>()
  for (const [partnerId, some] of Map.groupBy(rows, (row) => row.partnerId)) {
    const ids = some.map(({ id }) => id)
    for (const { caseId, note } of await cases.lastRemarks(db, partnerId, ids)) found.set(caseId, note)
  }
  return found
}
