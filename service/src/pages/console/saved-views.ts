/** The saved views of a list: links above its filters, and forms that save, rename and delete a view. */
import { html, type Html } from '../html.ts'
import {
  hiddenField,
  hiddenFields,
  type Input,
  input,
  inputs,
  toSelectOptions,
  type FieldProblems,
} from '../kit/forms.ts'
import { type ConsoleView, shell } from '../kit/frame.ts'
import { tabs } from '../kit/lists.ts'
import { message } from '../kit/parts.ts'
import { fill } from '../language.ts'
import { texts } from './texts/index.ts'

/** Paths of the lists whose filters can be saved. */
export const savedPages: readonly string[] = [
  ...['transactions', 'payouts', 'standing-orders', 'payees', 'customers', 'checkout', 'wallets', 'reports', 'events'],
  ...['service-accounts', 'audit'],
]

/** Reads the filters of a list: its query without `cursor` and `done`. */
export function readFilters(text: string): string {
  const query = new URLSearchParams(text)
  for (const name of ['cursor', 'done']) query.delete(name)
  return [...query]
    .filter(([, value]) => value.trim() !== '')
    .map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value.trim())}`)
    .join('&')
}

type SavedViewsOfList = {
  readonly page: string
  readonly query: string
  readonly views: readonly {
    readonly id: string
    readonly name: string
    readonly query: string
    readonly isShared: boolean
    readonly isOwn: boolean
  }[]
}

/** Renders the links to the saved views of a list, and the form that saves or changes the current filters. */
export function savedViewParts(view: ConsoleView, saved: SavedViewsOfList): NonNullable<ConsoleView['saved']> {
  const s = texts[view.language].savedViews
  const { page, query, views } = saved
  const current = views.find((each) => each.query === query)
  const items = views.map((each) => ({
    text: each.isShared ? `${each.name} (${s.shared})` : each.name,
    href: `${view.root}${page}?${each.query}`,
    current: each === current,
  }))
  return {
    links: html`${items.length > 0 && tabs({ label: s.title, items })}
    ${query !== '' && current === undefined && saveForm(view, saved)}
    ${current?.isOwn === true && changeForm(view, current)}`,
    invalid: current && message('warning', fill(s.invalid, { name: current.name })),
  }
}

const nameInput = ({ language }: ConsoleView): Input => ({
  id: 'view-name',
  name: 'name',
  label: texts[language].savedViews.name,
  charsMax: nameCharsMax,
})

const nameCharsMax = 60

const problemsIn = (error: string | undefined): FieldProblems => (error === undefined ? {} : { name: error })

type NewView = { readonly page: string; readonly query: string; readonly name?: string; readonly who?: string }

const saveFields = (view: ConsoleView, { page, query, name = '', who = 'own' }: NewView, error?: string): Html => {
  const s = texts[view.language].savedViews
  return html`<form method="post" action="${view.root}views/save">
    ${hiddenFields({ page, query })}
    ${inputs(view, { values: { name, who }, problems: problemsIn(error) }, [
      nameInput(view),
      { id: 'view-who', name: 'who', label: s.who, options: toSelectOptions(s.whos) },
    ])}
    <button type="submit">${s.save}</button>
  </form>`
}

const saveForm = (view: ConsoleView, saving: NewView): Html =>
  html`<details>
    <summary>${texts[view.language].savedViews.save}</summary>
    ${saveFields(view, saving)}
  </details>`

type ChangedView = { readonly id: string; readonly name: string }

const changeFields = (view: ConsoleView, { id, name }: ChangedView, error?: string): Html => {
  const s = texts[view.language].savedViews
  return html`<form method="post" action="${view.root}views/rename">
    ${hiddenField('id', id)} ${input(view, { values: { name }, problems: problemsIn(error) }, nameInput(view))}
    <div class="buttons">
      <button type="submit">${s.rename}</button>
      <button type="submit" class="danger" formaction="${view.root}views/delete" formnovalidate>${s.remove}</button>
    </div>
  </form>`
}

const changeForm = (view: ConsoleView, changing: ChangedView): Html =>
  html`<details>
    <summary>${texts[view.language].savedViews.change}</summary>
    ${changeFields(view, changing)}
  </details>`

type RefusedView = { readonly error: string; readonly saving?: NewView; readonly changing?: ChangedView }

/** Renders the page with a refused form, as it was typed. */
export function refusedViewPage(view: ConsoleView, { error, saving, changing }: RefusedView): string {
  const title = texts[view.language].savedViews.refused
  return shell(view, {
    title,
    problems: { 'view-name': error },
    main: html`<h1>${title}</h1>
      <div class="card">
        ${saving && saveFields(view, saving, error)} ${changing && changeFields(view, changing, error)}
      </div>`,
  })
}
