/** The page of a list: heading, filters, table, page links, and the text of an empty list. */
import { html, type Html } from '../html.ts'
import { type Input, input, type FieldProblems, type FormState, type FieldValues } from './forms.ts'
import { type ConsoleView, shell } from './frame.ts'
import { emptyState, linkButton, liveRegion, message, money, table, type Table } from './parts.ts'

type Filters = {
  /** Path of the list, which also clears the filters. */
  readonly path: string
  readonly main: readonly Html[]
  /** Rarely used filters. `open`: one of them is set. */
  readonly more?: { readonly fields: readonly Html[]; readonly open: boolean }
  readonly active: boolean
}

/** Renders a form whose fields become the query of the list. */
export function filters({ t, saved }: ConsoleView, { path, main, more, active }: Filters): Html {
  return html`${saved?.links}
    <form method="get" action="${path}" class="filters" aria-label="${t.filters}">
      <div class="grid">${main}</div>
      <div class="buttons">
        <button type="submit">${t.applyFilters}</button>
        ${active && html`<a class="button plain" href="${path}">${t.clearFilters}</a>`}
      </div>
      ${
        more &&
        html`<details ${more.open && html` open`}>
          <summary>${t.moreFilters}</summary>
          <div class="grid">${more.fields}</div>
        </details>`
      }
    </form>`
}

type Tabs = {
  readonly label: string
  readonly items: readonly { readonly text: string; readonly href: string; readonly current: boolean }[]
}

export const tabs = ({ label, items }: Tabs): Html =>
  html`<nav class="tabs" aria-label="${label}">
    <ul>
      ${items.map(
        ({ text, href, current }) =>
          html`<li><a href="${href}" ${current && html` aria-current="page"`}>${text}</a></li> `,
      )}
    </ul>
  </nav>`

/** Links to the next and the first page of a list. A count would have to read every row. */
export type PageLinks = { readonly next?: string | undefined; readonly first?: string | undefined }

export function pager({ t }: ConsoleView, { next, first }: PageLinks): Html | undefined {
  if (next === undefined && first === undefined) return undefined
  return html`<p class="more buttons">
    ${first !== undefined && html`<a class="button" href="${first}">${t.firstPage}</a>`}
    ${next !== undefined && html`<a class="button" href="${next}">${t.nextPage}</a>`}
  </p>`
}

/** The title and text of an empty list. */
export type EmptyList = Parameters<typeof emptyState>[0]

type List = {
  readonly table: Html
  readonly isEmpty: boolean
  readonly isFiltered: boolean
  readonly none: EmptyList
  readonly pages: PageLinks
}

/** Renders a table with its page links, or the text of an empty list. */
export function list(view: ConsoleView, { table, isEmpty, isFiltered, none, pages }: List): Html {
  const { t } = view
  if (!isEmpty) return html`${table} ${pager(view, pages)}`
  if (!isFiltered) return emptyState(none)
  return html`${emptyState({ title: t.nothingFound, text: t.nothingFoundText })} ${pager(view, pages)}`
}

type ListQuery = {
  /** The values of the filters. */
  readonly values: FieldValues
  readonly problems: FieldProblems
  readonly pages: PageLinks
}

/** Rows with the query that selected them. */
export type ListRows<Row> = ListQuery & { readonly rows: readonly Row[] }

/** A filter is an optional input. A select with a default has no empty choice. */
export type Filter = Omit<Input, 'optional' | 'any'>

type ListPage = {
  readonly title: string
  /** Absent: the title. */
  readonly heading?: string
  /** Path below the root of the pages. */
  readonly path: string
  readonly lead: string
  /** Message about the form that was just sent. */
  readonly done?: string | false | undefined
  /** Further links beside the heading. */
  readonly links?: Html
  /** The link to the form that creates a row. */
  readonly create?: { readonly text: string; readonly href: string } | false
  readonly tabs?: Html
  readonly filters?: readonly Filter[]
  /** Rarely used filters. */
  readonly more?: readonly Filter[]
  /** Precedes the table. */
  readonly note?: Html | false
  readonly columns: Table['columns']
  readonly cells: Table['rows']
  readonly none: EmptyList
  readonly after?: Html | false
  /** True if a row may change while the page is open. */
  readonly isLive?: boolean
}

/** Reports whether the filters have searched only a part of the list. */
export const isPartial = ({ values, pages }: ListQuery): boolean =>
  Object.keys(values).length > 0 && pages.next !== undefined

export function listPage(view: ConsoleView, shown: ListQuery, own: ListPage): string {
  const { title, columns, cells, none } = own
  const text = own.heading ?? title
  const { values, problems, pages } = shown
  return shell(view, {
    title,
    wide: true,
    problems,
    main: html`${typeof own.done === 'string' && message('good', own.done)} ${listHead(text, own)} ${own.tabs}
    ${filterForm(view, shown, own)} ${own.note}
    ${list(view, {
      table: liveRegion(own.isLive === true, table({ caption: title, columns, rows: cells })),
      isEmpty: cells.length === 0,
      isFiltered: Object.keys(values).length > 0 || pages.first !== undefined,
      none,
      pages,
    })}
    ${own.after}`,
  })
}

/** Renders title, lead and buttons in one line of a wide page, so that rows begin high on the page. */
function listHead(text: string, { lead, create, links }: Pick<ListPage, 'lead' | 'create' | 'links'>): Html {
  const made = create && linkButton(create.href, create.text, 'primary')
  return html`<div class="heading list-head">
    <h1>${text}</h1>
    <p class="lead">${lead}</p>
    ${create !== undefined && html`<div class="buttons">${links} ${made}</div>`}
  </div>`
}

type FilterInputs = Pick<ListPage, 'path' | 'filters' | 'more'>

/** The sum of listed amounts in one currency. `label`: the direction of the payments. */
export type CurrencySum = {
  readonly label?: string
  readonly amount: string
  readonly currency: string
  readonly count: number
}

/** Renders the sums of a filtered list. `capped`: more rows match than were added up. */
export function sumsNote(
  view: ConsoleView,
  { sums, capped }: { readonly sums: readonly CurrencySum[]; readonly capped: boolean },
): Html | false {
  const { t, language } = view
  return (
    sums.length > 0 &&
    html`<p class="sums">
      ${sums.map(
        ({ label, amount, currency, count }) =>
          html`<span>
            ${label} ${capped && t.moreThan} <strong>${money(view, amount, currency)}</strong>
            <span class="soft">(${count.toLocaleString(language)}${capped && '+'})</span>
          </span> `,
      )}
    </p>`
  )
}

/** Renders the filters of a list. */
export function filterForm(view: ConsoleView, { values, problems }: FormState, own: FilterInputs): Html | false {
  const { filters: main = [], more = [] } = own
  const fieldsOf = (shown: readonly Filter[]) => shown.map((each) => filterField(view, { values, problems }, each))
  const isOpen = more.some(({ name }) => name in values)
  return (
    main.length > 0 &&
    filters(view, {
      path: `${view.root}${own.path}`,
      main: fieldsOf(main),
      ...(more.length > 0 && { more: { fields: fieldsOf(more), open: isOpen } }),
      active: Object.keys(values).length > 0,
    })
  )
}

const filterField = (view: ConsoleView, typed: FormState, filter: Filter): Html =>
  input(view, typed, {
    ...filter,
    optional: 'unmarked',
    ...(filter.value === undefined && { any: view.t.any }),
  })
