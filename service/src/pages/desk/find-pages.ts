/** The page of the search: the field, and what was found. */
import { amountText } from '../../kernel/index.ts'
import { account, empty, freeText, identifier, message, money, payoutBadge, table, time } from '../kit/parts.ts'
import { field, hiddenField } from '../kit/forms.ts'
import { type ConsoleView, shell } from '../kit/frame.ts'
import { html, type Html } from '../html.ts'
import { fill } from '../language.ts'
import { type Found, textCharsMax } from './find.ts'
import { findTexts } from './find-texts.ts'

/** `found`: absent before the first search. */
type Shown = { readonly typed: string; readonly isRefused?: boolean; readonly found?: Found }

export function findPage(view: ConsoleView, { typed, isRefused = false, found }: Shown): string {
  const d = findTexts[view.language]
  const error = isRefused ? { error: d.refused } : {}
  return shell(view, {
    title: d.title,
    wide: true,
    problems: { q: isRefused ? d.refused : undefined },
    main: html`<h1>${d.title}</h1>
      <p class="lead">${d.text}</p>
      <form method="post" action="${view.root}find">
        ${field({
          ...{ id: 'q', name: 'q', label: d.label, help: d.help, value: typed, ...error },
          more: html` maxlength="${textCharsMax}" autocomplete="off" spellcheck="false"`,
        })}
        <div class="buttons"><button type="submit">${d.find}</button></div>
      </form>
      ${found && results(view, found)}`,
  })
}

function results(view: ConsoleView, found: Found): Html {
  const d = findTexts[view.language]
  const { payouts, customers, payees, partners, deposits, cases, files, hasMore, searched } = found
  const partly = searched !== null && message('warning', fill(d.partly, { count: String(searched) }))
  if ([payouts, customers, payees, partners, deposits, cases, files].every(({ length }) => length === 0))
    return html`${partly} ${empty({ title: d.none, text: d.noneText })}`
  return html`${partly} ${hasMore && message('warning', d.more)} ${payouts.length > 0 && payoutsTable(view, payouts)}
  ${deposits.length > 0 && depositsTable(view, deposits)} ${files.length > 0 && filesTable(view, files)}
  ${cases.length > 0 && casesTable(view, cases)} ${customers.length > 0 && customersTable(view, customers)}
  ${payees.length > 0 && payeesTable(view, payees)} ${partners.length > 0 && partnersTable(view, partners)}`
}

function payoutsTable(view: ConsoleView, payouts: Found['payouts']): Html {
  const d = findTexts[view.language]
  return html`<h2>${d.payouts}</h2>
    ${table({
      caption: d.payouts,
      columns: [
        [d.reference, 'head'],
        d.partner,
        d.status,
        [d.amount, 'number'],
        d.created,
        d.endToEndId,
        d.payout,
        d.case,
      ],
      rows: payouts.map((each) => [
        html`<a href="${view.root}payouts/${each.partnerId}/${each.id}">${freeText(each.reference)}</a>`,
        freeText(each.partnerName),
        payoutBadge(view, each.status),
        money(view, amountText(each.money.amount, each.money.currency), each.money.currency),
        time(view, each.createdAt),
        identifier(view, each.endToEndId, d.endToEndId),
        identifier(view, each.id, d.payout),
        each.caseId === null
          ? ''
          : html`<a href="${view.root}cases/${each.partnerId}/${each.caseId}">${d.openCase}</a>`,
      ]),
    })}`
}

function depositsTable(view: ConsoleView, deposits: Found['deposits']): Html {
  const d = findTexts[view.language]
  return html`<h2>${d.deposits}</h2>
    ${table({
      caption: d.deposits,
      columns: [[d.reference, 'head'], d.partner, d.status, [d.amount, 'number'], d.created, d.customer, d.deposit],
      rows: deposits.map(({ id, partnerName, reference, status, money: sum, createdAt, customerId }) => [
        freeText(reference),
        freeText(partnerName),
        freeText(status),
        money(view, amountText(sum.amount, sum.currency), sum.currency),
        time(view, createdAt),
        customerId === null ? '–' : identifier(view, customerId, d.customer),
        identifier(view, id, d.deposit),
      ]),
    })}`
}

function filesTable(view: ConsoleView, files: Found['files']): Html {
  const d = findTexts[view.language]
  return html`<h2>${d.files}</h2>
    ${table({
      caption: d.files,
      columns: [[d.file, 'head'], d.messageId, d.connector, d.status, d.created],
      rows: files.map(({ id, name, messageId, connector, state, at }) => [
        html`<a href="${view.root}files/${id}">${freeText(name)}</a>`,
        messageId === null ? '–' : freeText(messageId),
        freeText(connector),
        freeText(state),
        time(view, at),
      ]),
    })}`
}

function casesTable(view: ConsoleView, cases: Found['cases']): Html {
  const d = findTexts[view.language]
  return html`<h2>${d.cases}</h2>
    ${table({
      caption: d.cases,
      columns: [[d.case, 'head'], d.partner, d.created],
      rows: cases.map(({ id, partnerId, partnerName, kind, openedAt }) => [
        html`<a href="${view.root}cases/${partnerId}/${id}">${kind}</a>`,
        freeText(partnerName),
        time(view, openedAt),
      ]),
    })}`
}

function customersTable(view: ConsoleView, customers: Found['customers']): Html {
  const d = findTexts[view.language]
  return html`<h2>${d.customers}</h2>
    ${table({
      caption: d.customers,
      columns: [[d.customer, 'head'], d.partner, d.partnerId, d.iban],
      rows: customers.map(({ id, partnerId, partnerName, iban, closedAt }) => [
        identifier(view, id, d.customer),
        freeText(partnerName),
        identifier(view, partnerId, d.partnerId),
        iban === null
          ? ''
          : html`${account(view, iban)} ${closedAt !== null && html`${d.closed} ${time(view, closedAt)}`}`,
      ]),
    })}`
}

function payeesTable(view: ConsoleView, payees: Found['payees']): Html {
  const d = findTexts[view.language]
  return html`<h2>${d.payees}</h2>
    ${table({
      caption: d.payees,
      columns: [[d.payee, 'head'], d.partner, d.customer, d.created, [d.payouts, 'actions']],
      rows: payees.map(({ id, partnerName, customerId, createdAt }) => [
        identifier(view, id, d.payee),
        freeText(partnerName),
        customerId === null ? '–' : identifier(view, customerId, d.customer),
        time(view, createdAt),
        html`<form method="post" action="${view.root}find" class="actions">
          ${hiddenField('q', id)}<button type="submit" class="small">${d.payeePayouts}</button>
        </form>`,
      ]),
    })}`
}

function partnersTable(view: ConsoleView, partners: Found['partners']): Html {
  const d = findTexts[view.language]
  return html`<h2>${d.partners}</h2>
    ${table({
      caption: d.partners,
      columns: [[d.partner, 'head'], d.partnerId],
      rows: partners.map(({ partnerId, partnerName }) => [
        freeText(partnerName),
        identifier(view, partnerId, d.partnerId),
      ]),
    })}`
}
