/** Cases: what one may belong to, its owner, proposal and history. Two persons who signed in decide one. */
import { ownJson } from '@partner-payments/wire'
import { notFound, type PublicRequest, type PublicRoute, Refusal } from '../../kernel/api/index.ts'
import { caseActions, type CaseRow, reportOf } from '../../cases/index.ts'
import { amountText } from '../../kernel/index.ts'
import { decidesCases, type SignedStaff } from '../../people/staff/index.ts'
import { badge, call, identifier, message, table, time } from '../kit/parts.ts'
import { field, postButton, select } from '../kit/forms.ts'
import { type Form, page, readForm, seeOther, uuid } from '../kit/request.ts'
import { type ConsoleView, shell } from '../kit/frame.ts'
import { html, type Html } from '../html.ts'
import { fill } from '../language.ts'
import { noteField } from './forms.ts'
import {
  createWaiting,
  type DeskCase,
  queuePage,
  type QueueTab,
  queueTabs,
  runbookOf,
  type WaitingLook,
  type WaitingShown,
} from './queue.ts'
import { afterOf, type DeskFrame, keyOf, noteOf, type Person, personOf, withStaff } from './request.ts'
import { deskTexts } from './texts.ts'
import { ownerParts, refusalText, runbookLink, withOwners } from './things.ts'

type Shown = DeskCase & {
  readonly report: string
  readonly proposal: { readonly id: string; readonly action: string; readonly note: string } | null
  /** Null: the case is open. */
  readonly ended: { readonly resolution: string; readonly by: string } | null
  readonly decisions: readonly {
    readonly at: Date
    readonly actor: string
    readonly kind: string
    readonly note: string
  }[]
  readonly actions: readonly string[]
  /** The payouts of an alert of monitoring. Null: the case is none. */
  readonly standing: { readonly waiting: bigint; readonly left: bigint; readonly ended: bigint } | null
  readonly candidates: readonly ShownCandidate[]
  readonly related: readonly (Pick<DeskCase, 'partnerId' | 'id' | 'kind' | 'openedAt'> & {
    readonly resolution: string | null
  })[]
  readonly refunds: readonly ShownRefund[]
  readonly mayRecall: boolean
  readonly people: readonly { readonly id: string; readonly fullName: string }[]
  /** The person who reads the page. */
  readonly readerId: string
  readonly mayDecide: boolean
  readonly error?: string | Html
  /** Values of a refused form, so that nothing typed is lost. */
  readonly typed: (name: string) => string
}

export function casePage(view: ConsoleView, shown: Shown): string {
  const d = deskTexts[view.language].queue
  const { kind, partnerId, openedAt, money, report, ended, error, decisions, candidates, related, standing } = shown
  const facts: readonly (readonly [string, Html | string])[] = [
    [d.partner, partnerId],
    [d.opened, time(view, openedAt)],
    [d.money, money ?? '–'],
    ...(standing === null ? [] : [[d.payouts, fill(d.standing, countsOf(standing))] as const]),
    [d.runbook, runbookLink(view, runbookOf(kind))],
  ]
  return shell(view, {
    title: fill(d.case, { kind }),
    problems: { form: error },
    main: html`<h1>${fill(d.case, { kind })}</h1>
      <dl class="facts">
        ${facts.map(
          ([name, value]) =>
            html`<div>
              <dt>${name}</dt>
              <dd>${value}</dd>
            </div>`,
        )}
      </dl>
      <h2>${d.report}</h2>
      ${call(view, report, d.report)} ${money !== null && candidateTable(view, candidates)}
      ${shown.refunds.length > 0 && refundTable(view, partnerId, shown.refunds, shown.mayRecall ? `${view.root}cases/${partnerId}/${shown.id}/recall` : undefined)}
      ${related.length > 0 && relatedTable(view, related)}
      ${ended === null && ownerParts(view, { ...shown, words: d, action: (name) => `${view.root}cases/${partnerId}/${shown.id}/${name}` })}
      ${ended === null ? deciding(view, shown) : html`<p class="message neutral">${fill(d.ended, { resolution: ended.resolution, name: ended.by })}</p>`}
      ${
        decisions.length > 0 &&
        html`<h2>${d.history}</h2>
          ${table({
            caption: d.history,
            columns: [[d.when, 'head'], d.who, d.what, d.note],
            rows: decisions.map(({ at, actor, kind: what, note }) => [time(view, at), actor, what, note]),
          })}`
      }`,
  })
}

const countsOf = (standing: NonNullable<Shown['standing']>) =>
  Object.fromEntries(Object.entries(standing).map(([name, count]) => [name, `${count}`]))

function deciding(view: ConsoleView, shown: Shown): Html {
  const d = deskTexts[view.language].queue
  const { proposal, proposedBy, partnerId, id, mayDecide, typed } = shown
  const action = (name: string) => `${view.root}cases/${partnerId}/${id}/${name}`
  const noteOfForm = (of: string) => noteField(view, `${of}-note`, { value: typed('note') })
  const proposed =
    proposal === null
      ? html`<p>${d.noProposal}</p>`
      : html`<p>${fill(d.proposedBy, { name: proposedBy ?? '', action: proposal.action })}</p>
          <blockquote>${proposal.note}</blockquote>`
  if (!mayDecide)
    return html`<h2>${d.proposal}</h2>
      ${proposed}
      <p class="message neutral">${d.readOnly}</p>`
  return html`<h2>${d.proposal}</h2>
    ${proposed}
    ${
      proposal !== null &&
      html`${postButton(action('approve'), d.approve, { look: 'primary', hidden: { proposal: proposal.id } })}
        <form method="post" action="${action('reject')}">
          ${noteOfForm('reject')}<button type="submit" class="danger">${d.reject}</button>
        </form>`
    }
    <h2>${d.propose}</h2>
    ${proposeForm(view, shown, action('propose'), noteOfForm('propose'))}`
}

function proposeForm(view: ConsoleView, { actions, typed }: Shown, action: string, note: Html): Html {
  const d = deskTexts[view.language].queue
  const idField = (name: 'payout' | 'customer' | 'toPartner', help: string) =>
    field({ id: name, name, label: d[name], help, optional: true, value: typed(name), more: html`maxlength="64"` })
  return html`<form method="post" action="${action}">
    ${select({ id: 'action', name: 'action', label: d.action, value: typed('action'), options: actions.map((each) => [each, each] as const) })}
    ${idField('payout', d.payoutHelp)} ${idField('customer', d.customerHelp)} ${idField('toPartner', d.toPartnerHelp)}
    ${note}
    <button type="submit">${d.propose}</button>
  </form>`
}

type ShownCandidate = {
  readonly kind: 'payout' | 'deposit' | 'owner'
  readonly partnerId: string
  readonly id: string
  readonly status: string
  readonly money: string | null
  readonly on: Date | null
  readonly score: number
  readonly agreed: readonly string[]
}

function candidateTable(view: ConsoleView, candidates: readonly ShownCandidate[]): Html {
  const d = deskTexts[view.language].queue
  if (candidates.length === 0)
    return html`<h2>${d.candidates}</h2>
      ${message('neutral', d.candidatesNone)}`
  return html`<h2>${d.candidates}</h2>
    <p>${d.candidatesText}</p>
    ${table({
      caption: d.candidates,
      columns: [[d.candidate, 'head'], 'ID', [d.points, 'number'], d.agreed, [d.money, 'number'], d.when, d.partner],
      rows: candidates.map(({ kind, id, partnerId, status, score, agreed, money, on }) => [
        html`${kind} ${status !== '' && badge('neutral', status)}`,
        kind === 'payout'
          ? html`<a href="${view.root}payouts/${partnerId}/${id}">${id}</a>`
          : identifier(view, id, d.candidate),
        String(score),
        agreed.join(', '),
        money ?? '–',
        on === null ? '–' : time(view, on),
        identifier(view, partnerId, d.partner),
      ]),
    })}`
}

type ShownRefund = {
  readonly payoutId: string
  readonly status: string
  readonly money: string
  /** The bank has paid it: it can be asked for the money. */
  readonly isPaid: boolean
}

/** The refunds of a payment that its bank has taken back. `recall`: the address of the form; undefined: the reader may not use it. */
function refundTable(
  view: ConsoleView,
  partnerId: string,
  refunds: readonly ShownRefund[],
  recall: string | undefined,
): Html {
  const d = deskTexts[view.language].queue
  return html`<h2>${d.refunds}</h2>
    <p>${d.refundsText}</p>
    ${table({
      caption: d.refunds,
      columns: [[d.refund, 'head'], d.status, [d.money, 'number'], ''],
      rows: refunds.map(({ payoutId, status, money, isPaid }) => [
        html`<a href="${view.root}payouts/${partnerId}/${payoutId}">${payoutId}</a>`,
        badge('neutral', status),
        money,
        isPaid && recall !== undefined ? postButton(recall, d.recallRefund, { hidden: { payout: payoutId } }) : '',
      ]),
    })}`
}

type Related = Pick<DeskCase, 'partnerId' | 'id' | 'kind' | 'openedAt'> & { readonly resolution: string | null }

function relatedTable(view: ConsoleView, related: readonly Related[]): Html {
  const d = deskTexts[view.language].queue
  return html`<h2>${d.related}</h2>
    ${table({
      caption: d.related,
      columns: [[d.kind, 'head'], d.opened, d.action],
      rows: related.map(({ partnerId, id, kind, openedAt, resolution }) => [
        html`<a href="${view.root}cases/${partnerId}/${id}">${kind}</a>`,
        time(view, openedAt),
        resolution ?? d.open,
      ]),
    })}`
}

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
