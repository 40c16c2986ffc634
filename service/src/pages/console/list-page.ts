/** The page of a list: heading, filters, table, pages, and what an empty list says. */
import { html, type Html } from '../html.ts'
import { field, message, table, type Table } from './components.ts'
import { filters, list, type None, type Options, type Pages, select } from './lists.ts'
import type { Problems, Values } from './payments-request.ts'
import { paymentTexts } from './texts/payments.ts'
import { type ConsoleView, shell } from './view.ts'

type Query = {
  /** The filters as the person has set them. */
  readonly values: Values
  readonly problems: Problems
  readonly pages: Pages
}

/** Rows, with the query that chose them. */
export type Listed<Row> = Query & { readonly rows: readonly Row[] }

/** A filter is a choice if it has options, and a text or a day without them. */
export type Filter = {
  readonly name: string
  readonly label: string
  readonly options?: Options
  readonly type?: 'date'
  readonly help?: string
  readonly charsMax?: number
}

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
}

/** Reports whether only a part of the list was searched by the filters. */
export const isPart = ({ values, pages }: Query): boolean => Object.keys(values).length > 0 && pages.next !== undefined

export function listPage(view: ConsoleView, shown: Query, own: ListPage): string {
  const { title, heading = title, columns, cells, none } = own
  const { values, problems, pages } = shown
  return shell(view, {
    ...{ title, wide: true, problems },
    main: html`${typeof own.done === 'string' && message('good', own.done)}
      ${own.create === undefined ? html`<h1>${heading}</h1>` : headingWith(heading, own.create, own.links)}
      <p class="lead">${own.lead}</p>
      ${own.tabs} ${filterForm(view, shown, own)} ${own.note}
      ${list(view, {
        table: table({ caption: title, columns, rows: cells }),
        isEmpty: cells.length === 0,
        isFiltered: Object.keys(values).length > 0 || pages.first !== undefined,
        ...{ none, pages },
      })}
      ${own.after}`,
  })
}

function headingWith(heading: string, create: ListPage['create'], links: Html | undefined): Html {
  const made = create && html`<a class="button primary" href="${create.href}">${create.text}</a>`
  return html`<div class="heading">
    <h1>${heading}</h1>
    ${links === undefined ? made : html`<div class="buttons">${links} ${made}</div>`}
  </div>`
}

type Filtering = Pick<ListPage, 'path' | 'filters' | 'more'>

/** The form with the filters of a list. */
export function filterForm(view: ConsoleView, { values, problems }: Query, own: Filtering): Html | false {
  const { filters: main = [], more = [] } = own
  const fieldsOf = (shown: readonly Filter[]) => shown.map((each) => filterField(view, each, values, problems))
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

function filterField(view: ConsoleView, { name, label, ...own }: Filter, values: Values, problems: Problems): Html {
  const given = { id: name, name, label, value: values[name] ?? '', error: problems[name] }
  const { options, type = 'text', help, charsMax } = own
  if (options !== undefined) return select({ ...given, options, any: paymentTexts[view.language].any })
  const more = html`autocomplete="off"${charsMax !== undefined && html` maxlength="${charsMax}"`}`
  return field({ ...given, type, ...(help !== undefined && { help }), optional: true, more })
}
