/** The rules for countries: what holds, what waits for a second person, and the form of a change. */
import { countryActions, type CountryRules, countrySides } from '../../screening/index.ts'
import { html, type Html } from '../html.ts'
import { badge, empty, message, table } from '../kit/parts.ts'
import { choices, field } from '../kit/forms.ts'
import type { Form } from '../kit/request.ts'
import { type ConsoleView, shell } from '../kit/frame.ts'
import { changesTable, type DeskChange } from './command-pages.ts'
import { countryTexts } from './country-texts.ts'

/** The acts of the form: an action of a rule, or its end. */
export const countryActs = [...countryActions, 'remove'] as const

type Shown = {
  readonly rules: CountryRules['all']
  /** Changes of these rules that wait. */
  readonly changes: readonly DeskChange[]
  readonly mayWrite: boolean
  readonly said?: 'waits' | 'done' | undefined
  /** The refusal of the form, and its field. */
  readonly error?: { readonly text: string; readonly field?: string | undefined } | undefined
  /** Values of a refused form, so that nothing typed is lost. */
  readonly typed: Form
}

const tones = { refuse: 'bad', review: 'warning' } as const

export function countriesPage(view: ConsoleView, { rules, changes, mayWrite, said, error, typed }: Shown): string {
  const d = countryTexts[view.language]
  const names = new Intl.DisplayNames([view.language], { type: 'region' })
  return shell(view, {
    title: d.countries,
    wide: true,
    problems: { [error?.field ?? 'form']: error?.text },
    main: html`<h1>${d.countries}</h1>
      ${said !== undefined && message(said === 'waits' ? 'warning' : 'good', d[said])}
      <p class="lead">${d.countriesText}</p>
      ${
        rules.length === 0
          ? empty({ title: d.none, text: d.noneText })
          : table({
              caption: d.countries,
              columns: [[d.country, 'head'], d.side, d.action],
              rows: rules.map(({ country, side, action }) => [
                `${names.of(country) ?? country} (${country})`,
                d[side],
                badge(tones[action], d[action]),
              ]),
            })
      }
      ${
        changes.length > 0 &&
        html`<h2>${d.waiting}</h2>
          ${changesTable(view, changes, d.waiting)}`
      }
      ${mayWrite ? changeForm(view, error, typed) : message('neutral', d.readOnly)}`,
  })
}

function changeForm(view: ConsoleView, error: Shown['error'], typed: Form): Html {
  const d = countryTexts[view.language]
  const errorOf = (name: string) => (error?.field === name ? error.text : undefined)
  const sidesError = errorOf('side')
  return html`<h2>${d.change}</h2>
    <form method="post" action="${view.root}countries">
      ${field({
        ...{ id: 'countries', name: 'countries', label: d.codes, help: d.codesHelp, value: typed('countries') },
        error: errorOf('countries'),
        more: html`maxlength="1000" autocapitalize="characters" spellcheck="false"`,
      })}
      <fieldset class="field${sidesError !== undefined && ' wrong'}">
        <legend>${d.side}</legend>
        ${sidesError !== undefined && html`<p class="error" id="side-error">${sidesError}</p>`}
        ${countrySides.map((side, at) => {
          const id = at === 0 ? 'side' : `side-${side}`
          return html`<div class="choice">
            <input
              type="checkbox"
              id="${id}"
              name="for-${side}"
              value="yes"
              ${typed(`for-${side}`) !== '' && html` checked`}
            />
            <label for="${id}">${d[side]}</label>
          </div>`
        })}
      </fieldset>
      ${choices({
        ...{ id: 'act', name: 'act', legend: d.action, chosen: typed('act') || undefined, error: errorOf('act') },
        options: countryActs.map((act) => ({ value: act, label: d[act], help: d[`${act}Help`] })),
      })}
      ${field({
        ...{ id: 'note', name: 'note', label: d.note, help: d.noteHelp, value: typed('note') },
        error: errorOf('note'),
        more: html`maxlength="500"`,
      })}
      <button type="submit" class="primary">${d.propose}</button>
    </form>`
}
