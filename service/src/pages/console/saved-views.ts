/** The saved views of a list: links above its filters, and the forms that save, rename and delete one. */
import { html, type Html } from '../html.ts'
import { hiddenField, hiddenFields, type Input, input, inputs, optionsOf, type Problems } from '../kit/forms.ts'
import { type ConsoleView, shell } from '../kit/frame.ts'
import { tabs } from '../kit/lists.ts'
import { message } from '../kit/parts.ts'
import { fill } from '../language.ts'
import { texts } from './texts/index.ts'

/** Lists whose filters are saved: the paths below the console. */
export const savedPages: readonly string[] = [
  ...['transactions', 'payouts', 'standing-orders', 'payees', 'customers', 'checkout', 'wallets', 'reports', 'events'],
  ...['service-accounts', 'audit'],
]

/** The filters of a list: its query without the page of the list and without what was just done. */
export function filtersOf(text: string): string {
  const query = new URLSearchParams(text)
  for (const name of ['cursor', 'done']) query.delete(name)
  return [...query]
    .filter(([, value]) => value.trim() !== '')
    .map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value.trim())}`)
    .join('&')
}

type Saved = {
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

/** Links to the views of a list, and the forms for the filters that are open. */
export function savedIn(view: ConsoleView, saved: Saved): NonNullable<ConsoleView['saved']> {
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

const problemsIn = (error: string | undefined): Problems => (error === undefined ? {} : { name: error })

type Saving = { readonly page: string; readonly query: string; readonly name?: string; readonly who?: string }

const saveFields = (view: ConsoleView, { page, query, name = '', who = 'own' }: Saving, error?: string): Html => {
  const s = texts[view.language].savedViews
  return html`<form method="post" action="${view.root}views/save">
    ${hiddenFields({ page, query })}
    ${inputs(view, { values: { name, who }, problems: problemsIn(error) }, [
      nameInput(view),
      { id: 'view-who', name: 'who', label: s.who, options: optionsOf(s.whos) },
    ])}
    <button type="submit">${s.save}</button>
  </form>`
}

const saveForm = (view: ConsoleView, saving: Saving): Html =>
  html`<details>
    <summary>${texts[view.language].savedViews.save}</summary>
    ${saveFields(view, saving)}
  </details>`

type Changing = { readonly id: string; readonly name: string }

const changeFields = (view: ConsoleView, { id, name }: Changing, error?: string): Html => {
  const s = texts[view.language].savedViews
  return html`<form method="post" action="${view.root}views/rename">
    ${hiddenField('id', id)} ${input(view, { values: { name }, problems: problemsIn(error) }, nameInput(view))}
    <div class="buttons">
      <button type="submit">${s.rename}</button>
      <button type="submit" class="danger" formaction="${view.root}views/delete" formnovalidate>${s.remove}</button>
    </div>
  </form>`
}

const changeForm = (view: ConsoleView, changing: Changing): Html =>
  html`<details>
    <summary>${texts[view.language].savedViews.change}</summary>
    ${changeFields(view, changing)}
  </details>`

type Refused = { readonly error: string; readonly saving?: Saving; readonly changing?: Changing }

/** A form that was refused, with what was typed. */
export function refusedViewPage(view: ConsoleView, { error, saving, changing }: Refused): string {
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
