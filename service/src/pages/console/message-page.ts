/** A page that says what went wrong: refused, expired link, ended session, too many requests, broken. */
import { html } from '../html.ts'
import { type ConsoleView, shell } from './view.ts'

export type MessageAction = { readonly href: string; readonly label: string }

export function consoleMessage(view: ConsoleView, title: string, text: string, action?: MessageAction): string {
  return shell(view, {
    title,
    card: true,
    main: html`<h1>${title}</h1>
      <p class="lead">${text}</p>
      ${
        action !== undefined &&
        html`<p class="buttons"><a class="button primary" href="${action.href}">${action.label}</a></p>`
      }`,
  })
}
