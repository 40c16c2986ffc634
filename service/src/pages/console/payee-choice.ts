/** The choice of a payee for a new payout or standing order, with a search. */
import { nameCharsMax, type ResponseOf } from '@partner-payments/wire'
import type { PublicAnswer, PublicRequest } from '../../kernel/api/index.ts'
import { html, type Html } from '../html.ts'
import { type ConsoleView, shell } from '../kit/frame.ts'
import { filterForm, list, type ListRows } from '../kit/lists.ts'
import { formatAccount, table } from '../kit/parts.ts'
import { pathWithQuery, page, queryText, pageStatus } from '../kit/request.ts'
import { currencyOptions, payeeNameCell, type PayeeRow, payeeRow } from './payees.ts'
import { callOf, type Frame, type Person, readList } from './request.ts'
import { texts } from './texts/index.ts'

type PayeeChoice = ListRows<PayeeRow> & {
  /** Title and path of the form. */
  readonly title: string
  readonly path: string
}

/** Renders payees as links to the form. */
export function choosePayeePage(view: ConsoleView, { rows, title, path, ...shown }: PayeeChoice): string {
  const p = texts[view.language].payments
  const newPayee = html`<a class="button" href="${view.root}payees/new">${p.newPayee}</a>`
  const hasWallets = rows.some(({ isWallet }) => isWallet)
  const isFiltered = Object.keys(shown.values).length > 0
  return shell(view, {
    title,
    wide: true,
    problems: shown.problems,
    main: html`<div class="heading">
        <h1>${p.choosePayee}</h1>
        ${(rows.length > 0 || isFiltered) && newPayee}
      </div>
      <p class="lead">${p.choosePayeeText} ${hasWallets && p.tokenOnly}</p>
      ${
        (rows.length > 0 || isFiltered) &&
        filterForm(view, shown, {
          path,
          filters: [
            { name: 'search', label: p.searchPayee, help: p.searchPayeeHelp, charsMax: nameCharsMax },
            { name: 'currency', label: p.currency, options: currencyOptions },
          ],
        })
      }
      ${list(view, {
        table: payeeTable(view, rows, path),
        isEmpty: rows.length === 0,
        isFiltered,
        pages: shown.pages,
        none: { title: p.chooseNone, text: p.payeesEmptyText, more: html`<p class="more">${newPayee}</p>` },
      })}`,
  })
}

function payeeTable(view: ConsoleView, rows: readonly PayeeRow[], path: string): Html {
  const p = texts[view.language].payments
  return table({
    caption: view.t.payees,
    columns: [[p.payee, 'head'], p.account, p.currency, [view.t.actions, 'actions']],
    rows: rows.map((row) => [
      payeeNameCell(row, row.name),
      html`<code class="account">${formatAccount(row.account)}</code>`,
      row.currency,
      row.isWallet
        ? ''
        : html`<div class="actions">
            <a class="button small" href="${pathWithQuery(`${view.root}${path}`, { beneficiaryId: row.id })}"
              >${p.pay}<span class="away"> ${row.name}</span></a
            >
          </div>`,
    ]),
  })
}

type Place = 'payouts' | 'standing-orders'

/** Shows the page on which a person chooses a payee for a form. */
export async function choosePayee(
  { operate }: Frame,
  request: PublicRequest,
  person: Person,
  place: Place,
): Promise<PublicAnswer> {
  const { language } = person.view
  const { data, shown } = await readList(request, person, choiceFilters, ({ search, ...query }) => {
    const call = callOf(person, request)
    const read = (by: Readonly<Record<string, string>>) =>
      operate('listBeneficiaries', { ...call, query: queryText({ ...query, ...by }) })
    return search === undefined ? read({}) : searchPayees(search, read)
  })
  const title = place === 'payouts' ? texts[language].payments.newPayout : texts[language].orders.newOrder
  const choice = { ...shown, rows: data.map(payeeRow), title, path: `${place}/new` }
  return page(request, pageStatus(shown.problems), choosePayeePage(person.view, choice))
}

const choiceFilters = ['search', 'currency']

const ibanPattern = /^[a-z]{2}\s?\d\s?\d/i

/** Searches by IBAN, else by alias, else by the beginning of a name. Only a search by name has a cursor. */
async function searchPayees(
  search: string,
  read: (by: Readonly<Record<string, string>>) => Promise<ResponseOf<'listBeneficiaries'>>,
): Promise<ResponseOf<'listBeneficiaries'>> {
  if (ibanPattern.test(search)) return read({ iban: search })
  const named = await read({ alias: search })
  return named.data.length > 0 ? named : read({ namePrefix: search })
}
