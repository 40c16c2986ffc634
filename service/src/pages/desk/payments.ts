/** The page of a payment: parties, timeline, and the reason if it is on hold. A payout has its own page. */
import { uuidPattern } from '../../kernel/index.ts'
import { ownJson } from '@partner-payments/wire'
import { ifFound, notFound, type PublicAnswer, type PublicRequest, type PublicRoute } from '../../kernel/api/index.ts'
import { explainHold, type Party, type TransactionView } from '../../transactions/index.ts'
import {
  heading,
  facts,
  freeText,
  identifier,
  formatAccount,
  linkButton,
  message,
  referenceText,
  section,
  steps,
  summaryStrip,
  time,
  transactionBadge,
  accountText,
  wordFor,
} from '../kit/parts.ts'
import { list } from '../kit/lists.ts'
import { pathWithQuery, page, seeOther } from '../kit/request.ts'
import { texts as consoleTexts } from '../console/texts/index.ts'
import { type ConsoleView, shell } from '../kit/frame.ts'
import { html, type Html } from '../html.ts'
import { fill } from '../language.ts'
import { actionButtons, actionMessage } from './acts.ts'
import {
  boundedSection,
  casesTable,
  categoryText,
  customerHref,
  minorMoney,
  partnerReference,
  payeeHref,
  paymentHref,
  paymentsTable,
} from './parties.ts'
import { readCustomerName } from './payees.ts'
import { type DeskFrame, type Person, staffRoute } from './request.ts'
import { deskTexts } from './texts.ts'

type PaymentDetails = {
  readonly payment: TransactionView
  readonly partnerName: string | undefined
  /** Undefined if the partner itself pays or is paid, or if the name was erased. */
  readonly customerName: string | undefined
  readonly related: Parameters<typeof paymentsTable>[1]
  readonly cases: Parameters<typeof casesTable>[1]
  /** The reason that the partner sees while the payment is on hold. */
  readonly partnerReads: string | undefined
  readonly acts: Html | undefined
  readonly said: Html | undefined
}

export function paymentPage(view: ConsoleView, shown: PaymentDetails): string {
  const texts = deskTexts[view.language]
  const [d, p] = [texts.parties, texts.paymentPage]
  const { row, timeline } = shown.payment
  const { partnerId, customerId, errorKey } = row
  const reference = referenceText({ userReference: row.userReference ?? undefined, reference: row.reference })
  const title = `${categoryText(view, row.category)} ${reference}`
  const t = consoleTexts[view.language].payments
  return shell(view, {
    title,
    wide: true,
    main: html`${shown.said}
      <h1>${title}</h1>
      <p class="lead">${p.text} ${d.opensRecorded}</p>
      ${summaryStrip([
        [d.amount, minorMoney(view, row.amount, row.currency)],
        [d.status, transactionBadge(view, row.status)],
        [d.partner, partnerReference(view, partnerId, shown.partnerName)],
        [
          d.customer,
          customerId === null
            ? d.own
            : html`<a href="${view.root}${customerHref(partnerId, customerId)}"
                >${freeText(shown.customerName ?? d.customer)}</a
              >`,
        ],
      ])}
      ${shown.acts}
      ${shown.partnerReads !== undefined && message('warning', fill(p.partnerReads, { reason: shown.partnerReads }))}
      ${facts([
        [p.from, partyCell(row.debtor)],
        [p.to, partyCell(row.creditor)],
        [p.description, freeText(row.description ?? undefined) || undefined],
        [p.ended, errorKey === null ? undefined : wordFor(t.errorKey, errorKey)],
        [p.rail, row.rail === null ? undefined : wordFor(t.rails, row.rail)],
        [p.serviceReference, identifier(view, row.reference, p.serviceReference)],
        [p.endToEndId, row.endToEndId === null ? undefined : identifier(view, row.endToEndId, p.endToEndId)],
        [p.at, time(view, row.createdAt)],
        [
          d.payee,
          row.beneficiaryId === null
            ? undefined
            : html`<a href="${view.root}${payeeHref(partnerId, row.beneficiaryId)}">${d.payee}</a>`,
        ],
      ])}
      ${section(
        'timeline',
        p.timeline,
        steps(
          view,
          timeline.map(({ step, createdAt, reason, bankText }) => ({
            title: wordFor(t.step, step),
            at: new Date(createdAt),
            detail: [reason, bankText].filter(Boolean).join(' ') || undefined,
          })),
        ),
      )}
      ${boundedSection(view, {
        ...{ id: 'related', title: p.related, rows: shown.related.length },
        body: paymentsTable(view, shown.related),
      })}
      ${boundedSection(view, {
        ...{ id: 'cases', title: d.cases, rows: shown.cases.length, body: casesTable(view, shown.cases, d.cases) },
      })}`,
  })
}

/** Renders a party as stated by the bank. Undefined if the bank did not state it. */
function partyCell(text: string | null): Html | undefined {
  if (text === null) return undefined
  const party = ownJson<Party>(text)
  const known = accountText(party)
  const name = party.accountHolderName
  if (name === undefined && known === '') return undefined
  return html`${freeText(name)} ${known !== '' && html`<code class="account">${formatAccount(known)}</code>`}`
}

type PaymentList = {
  readonly partnerId: string
  readonly title: string
  readonly payments: Parameters<typeof paymentsTable>[1]
  /** The target of the back button. */
  readonly back: { readonly href: string; readonly text: string }
  readonly next?: string | undefined
  readonly first?: string | undefined
}

export function paymentsPage(view: ConsoleView, { title, payments, back, next, first }: PaymentList): string {
  const d = deskTexts[view.language].parties
  return shell(view, {
    title,
    wide: true,
    main: html`${heading(title, linkButton(`${view.root}${back.href}`, back.text))}
    ${list(view, {
      table: paymentsTable(view, payments),
      ...{ isEmpty: payments.length === 0, isFiltered: false, none: { title: d.none, text: d.newest } },
      pages: { next, first },
    })}`,
  })
}

export const paymentRoutes = (frame: DeskFrame): readonly PublicRoute[] => [
  staffRoute(frame, 'partners', 'GET', '/payment', (request, person) => showPayment(frame, request, person)),
]

async function showPayment(frame: DeskFrame, request: PublicRequest, person: Person): Promise<PublicAnswer> {
  const { view, signed } = person
  const { db, access, cases, deposits, holdOf, payouts, staff, transactions } = frame
  const fields = new URLSearchParams(request.query)
  const [partnerId, reference] = [fields.get('partner') ?? '', fields.get('reference') ?? '']
  if (!uuidPattern.test(partnerId) || reference === '' || reference.includes('\0')) throw notFound('page')
  const { transaction, related } = await transactions.related(partnerId, reference)
  const { row } = transaction
  if (row.category === 'Withdrawal') {
    // Early versions recorded a return as a withdrawal without a payout.
    const payout = await ifFound(payouts.get(partnerId, reference))
    if (payout !== undefined) return seeOther(`${view.root}payouts/${partnerId}/${payout.id}`)
  }
  await staff.recordOpened(signed, 'payments', [`${partnerId}/${row.id}`])
  const hold = await holdOf(transaction)
  const [deposit] = row.category === 'Deposit' ? await deposits.byReferences(db, partnerId, [reference]) : []
  const about = [reference, row.id, ...(deposit === undefined ? [] : [deposit.id])]
  const href = paymentHref(partnerId, reference)
  const body = paymentPage(view, {
    payment: transaction,
    partnerName: (await access.namesOf(db, [partnerId])).get(partnerId),
    customerName: await readCustomerName(frame, partnerId, row.customerId),
    related: await transactions.withUsers(related.map((each) => each.transaction)),
    cases: await cases.about(db, partnerId, about),
    partnerReads: hold && explainHold(hold).reason,
    acts: actionButtons(
      view,
      { ...frame, person },
      {
        acts: row.category === 'Deposit' && row.status === 'Completed' ? ['deposit undo'] : [],
        ...{ given: { partner: partnerId, reference }, back: href },
      },
    ),
    said: actionMessage(view, request),
  })
  return page(request, 200, body)
}

const perPage = 50

/** Responds with a page of the payments of a partner, of one customer or to one payee, newest first. */
export async function showPayments(
  frame: DeskFrame,
  request: PublicRequest,
  { view, signed }: Person,
  partner: { readonly id: string; readonly name: string },
): Promise<PublicAnswer> {
  const d = deskTexts[view.language].parties
  const fields = new URLSearchParams(request.query)
  const [customer, payee, cursor] = [fields.get('customer'), fields.get('payee'), fields.get('cursor')]
  if ((customer !== null && !uuidPattern.test(customer)) || (payee !== null && !uuidPattern.test(payee)))
    throw notFound('page')
  const filter = {
    ...(customer === null ? {} : { customerId: customer }),
    ...(payee === null ? {} : { beneficiaryId: payee }),
  }
  const found = await frame.transactions.list(partner.id, {
    ...{ ...filter, limit: String(perPage) },
    ...(cursor === null ? {} : { cursor }),
  })
  const { data, nextCursor } = found
  await frame.staff.recordOpened(
    signed,
    'payments',
    data.map(({ row }) => `${partner.id}/${row.id}`),
  )
  const path = `${view.root}partners/${partner.id}/payments`
  const named = { ...(customer !== null && { customer }), ...(payee !== null && { payee }) }
  const back =
    payee !== null
      ? { href: payeeHref(partner.id, payee), text: d.payee }
      : customer !== null
        ? { href: customerHref(partner.id, customer), text: d.customer }
        : { href: `partners/${partner.id}`, text: d.partner }
  const body = paymentsPage(view, {
    ...{ partnerId: partner.id, title: `${d.payments}: ${partner.name}`, back },
    payments: await frame.transactions.withUsers(data),
    next: nextCursor === null ? undefined : pathWithQuery(path, { ...named, cursor: nextCursor }),
    first: cursor === null ? undefined : pathWithQuery(path, named),
  })
  return page(request, 200, body)
}
