/** The page of a list: heading, filters, table, pages, and what an empty list says. */
import { html, type Html } from '../html.ts'
import { type Input, input, type Problems, type Typed, type Values } from './forms.ts'
import { type ConsoleView, shell } from './frame.ts'
import { empty, linkButton, live, message, money, table, type Table } from './parts.ts'

type Filters = {
  /** Path of the list, which also clears the filters. */
  readonly path: string
  readonly main: readonly Html[]
  /** Filters that are needed seldom. `open`: one of them is set. */
  readonly more?: { readonly fields: readonly Html[]; readonly open: boolean }
  readonly active: boolean
}

/** A form whose fields become the query of the list. */
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

/** Links of the pages of a list. A list has no count: it would read every row. */
export type Pages = { readonly next?: string | undefined; readonly first?: string | undefined }

export function pager({ t }: ConsoleView, { next, first }: Pages): Html | undefined {
  if (next === undefined && first === undefined) return undefined
  return html`<p class="more buttons">
    ${first !== undefined && html`<a class="button" href="${first}">${t.firstPage}</a>`}
    ${next !== undefined && html`<a class="button" href="${next}">${t.nextPage}</a>`}
  </p>`
}

/** An empty list says what will be here. */
export type None = Parameters<typeof empty>[0]

type List = {
  readonly table: Html
  readonly isEmpty: boolean
  readonly isFiltered: boolean
  readonly none: None
  readonly pages: Pages
}

/** A table with its pages, or what an empty list says. */
export function list(view: ConsoleView, { table, isEmpty, isFiltered, none, pages }: List): Html {
  const { t } = view
  if (!isEmpty) return html`${table} ${pager(view, pages)}`
  if (!isFiltered) return empty(none)
  return html`${empty({ title: t.nothingFound, text: t.nothingFoundText })} ${pager(view, pages)}`
}

type Query = {
  /** The filters as the person has set them. */
  readonly values: Values
  readonly problems: Problems
  readonly pages: Pages
}

/** Rows, with the query that chose them. */
export type Listed<Row> = Query & { readonly rows: readonly Row[] }

/** A filter is an input that may stay empty. A choice with a value has that one instead of the empty choice. */
export type Filter = Omit<Input, 'optional' | 'any'>

type ListPage = {
  readonly title: string
  /** Absent: the title. */
  readonly heading?: string
  /** Path below the root of the pages. */
  readonly path: string
  readonly lead: string
  /** Says what the last form did. */
  readonly done?: string | false | undefined
  /** Further links beside the heading. */
  readonly links?: Html
  /** The link to the form of a new thing. */
  readonly create?: { readonly text: string; readonly href: string } | false
  readonly tabs?: Html
  readonly filters?: readonly Filter[]
  /** Filters that are needed seldom. */
  readonly more?: readonly Filter[]
  /** Precedes the table. */
  readonly note?: Html | false
  readonly columns: Table['columns']
  readonly cells: Table['rows']
  readonly none: None
  readonly after?: Html | false
  /** True if a row may change while the page is open. */
  readonly isMoving?: boolean
}

/** Reports whether only a part of the list was searched by the filters. */
export const isPart = ({ values, pages }: Query): boolean => Object.keys(values).length > 0 && pages.next !== undefined

export function listPage(view: ConsoleView, shown: Query, own: ListPage): string {
  const { title, columns, cells, none } = own
  const text = own.heading ?? title
  const { values, problems, pages } = shown
  return shell(view, {
    ...{ title, wide: true, problems },
    main: html`${typeof own.done === 'string' && message('good', own.done)} ${listHead(text, own)} ${own.tabs}
    ${filterForm(view, shown, own)} ${own.note}
    ${list(view, {
      table: live(own.isMoving === true, table({ caption: title, columns, rows: cells })),
      isEmpty: cells.length === 0,
      isFiltered: Object.keys(values).length > 0 || pages.first !== undefined,
      ...{ none, pages },
    })}
    ${own.after}`,
  })
}

/** Title, lead and buttons in one line where it is wide, so that the rows are near. */
function listHead(text: string, { lead, create, links }: Pick<ListPage, 'lead' | 'create' | 'links'>): Html {
  const made = create && linkButton(create.href, create.text, 'primary')
  return html`<div class="heading list-head">
    <h1>${text}</h1>
    <p class="lead">${lead}</p>
    ${create !== undefined && html`<div class="buttons">${links} ${made}</div>`}
  </div>`
}

type Filtering = Pick<ListPage, 'path' | 'filters' | 'more'>

/** The sum of what a list shows, by currency. `label`: what they have in common, such as money in. */
export type Sum = {
  readonly label?: string
  readonly amount: string
  readonly currency: string
  readonly count: number
}

/** Sums of a filtered list. `capped`: more rows match than were added up. */
export function sumsNote(
  view: ConsoleView,
  { sums, capped }: { readonly sums: readonly Sum[]; readonly capped: boolean },
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

/** The form with the filters of a list. */
export function filterForm(view: ConsoleView, { values, problems }: Typed, own: Filtering): Html | false {
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

const filterField = (view: ConsoleView, typed: Typed, filter: Filter): Html =>
  input(view, typed, {
    ...{ ...filter, optional: 'unmarked' },
    ...(filter.value === undefined && { any: view.t.any }),
  })
