/** The list of payouts, the page of one, its cancellation and its recalls. `approval-routes.ts` approves and rejects. */
import { decimalText, type Permission, type ResponseOf } from '@partner-payments/wire'
import type { PublicAnswer, PublicRequest } from '../../kernel/api/index.ts'
import { amountText, type Currency, isUuid, type Minor, newId } from '../../kernel/index.ts'
import type { WaitingApproval } from '../../payouts/index.ts'
import { explain } from '../../transactions/index.ts'
import { payoutPage } from './payout-page.ts'
import {
  payoutFilters,
  payoutsPage,
  payoutTabs,
  waitingPage,
  type WaitingRow,
  type WaitingTab,
} from './payouts-page.ts'
import {
  callOf,
  ifFound,
  linkOf,
  type Problems,
  problemsOf,
  queryText,
  readList,
  readQuery,
  routesOf,
  statusOf,
} from './payments-request.ts'
import { type Frame, page, type Person, readForm, type Routes, seeOther } from './request.ts'
import { paymentTexts } from './texts/payments.ts'
import { bankSaid, stepsOf, transactionHref } from './transaction-routes.ts'
import type { ConsoleView } from './view.ts'

type Payout = ResponseOf<'listPayouts'>['data'][number]

async function showList(frame: Frame, request: PublicRequest, person: Person): Promise<PublicAnswer> {
  const { view, caller } = person
  const given = readQuery(request, ['tab'])
  const tab = payoutTabs.find((each) => each === given['tab']) ?? 'all'
  if (tab !== 'all') return showWaiting(frame, request, person, tab)
  const { data, shown } = await readList(request, person, payoutFilters, (query) =>
    frame.operate('listPayouts', { ...callOf(person, request), query: queryText(query) }),
  )
  const payouts = { ...shown, rows: data.map(rowOf), mayWrite: caller.permissions.includes('payouts:write') }
  return page(request, statusOf(shown.problems), payoutsPage({ ...view, current: 'payouts' }, payouts))
}

const waitingPerPage = 25

/** A tab of approvals. Its cursor is the id of the last payout or bulk: what is decided meanwhile moves no row to another page. */
async function showWaiting(
  { approvals }: Frame,
  request: PublicRequest,
  { view, caller }: Person,
  tab: WaitingTab,
): Promise<PublicAnswer> {
  const { cursor } = readQuery(request, ['cursor'])
  const afterId = cursor !== undefined && isUuid(cursor) ? cursor.toLowerCase() : null
  const { partnerId, serviceAccountId } = caller
  const made = { waiting: 'any', made: { by: serviceAccountId }, mine: { notBy: serviceAccountId } } as const
  const found = await approvals.waitingApprovals(partnerId, { made: made[tab], afterId, rowsMax: waitingPerPage + 1 })
  const rows = found.slice(0, waitingPerPage)
  const last = found.length > waitingPerPage ? rows.at(-1) : undefined
  const shown = {
    rows: rows.map(waitingRowOf),
    pages: {
      next: last && linkOf('payouts', { tab, cursor: last.id }),
      first: afterId === null ? undefined : linkOf('payouts', { tab }),
    },
    ...{ tab, mayWrite: caller.permissions.includes('payouts:write') },
  }
  return page(request, 200, waitingPage({ ...view, current: 'payouts' }, shown))
}

function waitingRowOf(row: WaitingApproval): WaitingRow {
  const { id, expiresAt, requestedNames } = row
  const common = { id, expiresAt, requestedBy: requestedNames.join(', ') }
  const moneyOf = ({ amount, currency }: { readonly amount: Minor; readonly currency: Currency }) => ({
    ...{ amount: amountText(amount, currency), currency },
  })
  if (row.kind === 'bulk') {
    const { payouts, createdAt, totals } = row
    return { ...common, kind: 'bulk', payouts, createdAt, totals: totals.map(moneyOf) }
  }
  const { creditorName: payee, creditorAccount: payeeAccount, remittance } = row.payout
  const reference = remittance ?? row.payout.reference
  return { ...common, kind: 'payout', payee, payeeAccount, reference, totals: [moneyOf(row.payout)] }
}

/** A form of the page that was refused: its problems, and what was typed. */
type Refused = { readonly problems: Problems; readonly recall?: { readonly reason: string; readonly text: string } }

async function showOne(
  frame: Frame,
  request: PublicRequest,
  person: Person,
  { problems, recall }: Refused = { problems: {} },
): Promise<PublicAnswer> {
  const { view, caller, user } = person
  const { operate } = frame
  const may = (permission: Permission) => caller.permissions.includes(permission)
  const call = callOf(person, request)
  const id = request.params['id'] ?? ''
  const raw = await operate('getPayout', { ...call, params: { id } })
  const ofTransaction = { ...call, params: { reference: raw.reference } }
  const hasSettled = raw.rail === 'Sepa' && (raw.status === 'Completed' || raw.status === 'Returned')
  const [transaction, timeline, recalls] = await Promise.all([
    may('transactions:read') ? ifFound(operate('getTransaction', ofTransaction)) : undefined,
    may('transactions:read') ? ifFound(operate('getTransactionTimeline', ofTransaction)) : undefined,
    hasSettled ? operate('listPayoutRecalls', { ...call, params: { id } }) : undefined,
  ])
  const isOwn = timeline?.requestedBy?.id === user.id
  const isWaiting = raw.status === 'PendingApproval'
  const { beneficiaryId } = raw
  const shown = {
    ...detailsOf(raw),
    payeeHref:
      beneficiaryId !== undefined && may('beneficiaries:read') ? `${view.root}payees/${beneficiaryId}` : undefined,
    transactionHref: transaction && transactionHref(view, raw.reference),
    requestedBy: timeline?.requestedBy?.name,
    may: {
      cancel: may('payouts:write') && (isWaiting || raw.status === 'Pending'),
      approve: !isWaiting || !may('payouts:write') ? ('no' as const) : isOwn ? ('own' as const) : ('yes' as const),
    },
    done: outcomes.find((each) => each === readQuery(request, ['done'])['done']),
    hold:
      timeline?.hold ??
      (isWaiting ? explain({ kind: 'approval', by: detailsOf(raw).approval?.until ?? null }) : undefined),
    steps: timeline === undefined ? [] : stepsOf(view, timeline),
    recalls: recalls && {
      rows: recalls.data.map((each) => recallRowOf(view, each)),
      form: may('payouts:write') && raw.status === 'Completed' ? { idempotencyKey: newId(), typed: recall } : undefined,
    },
    ...{ problems, raw },
  }
  return page(request, statusOf(problems), payoutPage({ ...view, current: 'payouts' }, shown))
}

const outcomes = ['created', 'cancelled', 'recallRequested'] as const

const recallRowOf = (view: ConsoleView, recall: ResponseOf<'listPayoutRecalls'>['data'][number]) => {
  const { id, reason, status, requestedBy, settledAmount, currency, returnReference } = recall
  return {
    ...{ id, reason, status, requestedBy },
    requestedAt: new Date(recall.requestedAt),
    answerDueOn: recall.answerDueOn === undefined ? undefined : new Date(recall.answerDueOn),
    answer: bankSaid(view, recall.answer, recall.bankText),
    returned:
      settledAmount === undefined
        ? undefined
        : {
            ...{ amount: decimalText(settledAmount), currency },
            href: returnReference && transactionHref(view, returnReference),
          },
  }
}

export const payoutRoutes: Routes = (frame, _withPerson, withMoney) => {
  const { operate } = frame
  const cancel = async (_frame: Frame, request: PublicRequest, person: Person): Promise<PublicAnswer> => {
    const id = request.params['id'] ?? ''
    try {
      await operate('cancelPayout', { ...callOf(person, request), params: { id } })
    } catch (error) {
      return showOne(frame, request, person, { problems: problemsOf(paymentTexts[person.view.language], error, []) })
    }
    return seeOther(`../${id}?done=cancelled`)
  }
  const recall = async (_frame: Frame, request: PublicRequest, person: Person): Promise<PublicAnswer> => {
    const id = request.params['id'] ?? ''
    const given = readForm(request)
    const typed = { reason: given('reason'), text: given('text').trim() }
    const { reason, text } = typed
    const call = { ...callOf(person, request), params: { id }, idempotencyKey: given('idempotencyKey') || newId() }
    try {
      await operate('createPayoutRecall', { ...call, body: { reason, ...(text && { text }) } })
    } catch (error) {
      const problems = problemsOf(paymentTexts[person.view.language], error, ['reason', 'text'])
      return showOne(frame, request, person, { problems, recall: typed })
    }
    return seeOther(`../${id}?done=recallRequested`)
  }
  const route = routesOf(frame, withMoney, 'payouts')
  return [
    route('GET', '', 'payouts:read', showList),
    route('GET', '/{id}', 'payouts:read', showOne),
    route('POST', '/{id}/cancel', 'payouts:write', cancel),
    route('POST', '/{id}/recall', 'payouts:write', recall),
  ]
}

const rowOf = ({ id, reference, userReference, status, currency, ...payout }: Payout) => ({
  ...{ id, reference, userReference, status, currency },
  payee: payout.beneficiaryName,
  payeeAccount: payout.beneficiaryAccount,
  amount: decimalText(payout.amount),
  createdAt: new Date(payout.createdAt),
  approvalExpiresAt: payout.approvalExpiresAt === undefined ? undefined : new Date(payout.approvalExpiresAt),
})

function detailsOf(raw: Payout) {
  const { fee, sellAmount, sellCurrency, approval, approvalExpiresAt } = raw
  const { rail, errorKey, endToEndId, idempotencyKey } = raw
  const at = (text: string | undefined) => (text === undefined ? undefined : new Date(text))
  return {
    ...rowOf(raw),
    ...{ rail, errorKey, endToEndId, idempotencyKey },
    fee: fee === undefined ? undefined : decimalText(fee),
    feeCurrency: sellCurrency ?? raw.currency,
    sold:
      sellAmount === undefined || sellCurrency === undefined
        ? undefined
        : { amount: decimalText(sellAmount), currency: sellCurrency },
    updatedAt: new Date(raw.updatedAt),
    approval: approval && {
      until: at(approvalExpiresAt),
      decision: approval.decision,
      decidedBy: approval.decidedBy?.name,
      decidedAt: at(approval.decidedAt),
      reason: approval.reason,
    },
  }
}
