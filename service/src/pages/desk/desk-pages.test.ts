import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  checkEscaped,
  checkLabels,
  checkSize,
  checkStructure,
  evil,
  viewOf,
} from '../../../../test/support/console-pages.ts'
import { type ConsoleLanguage, consoleLanguages } from '../console/language.ts'
import { html } from '../html.ts'
import { casePage, queuePage } from './case-pages.ts'
import { hitPage, hitsPage } from './hit-pages.ts'
import { hitTexts } from './hit-texts.ts'
import { deskTexts } from './texts.ts'

const at = new Date('2026-11-24T14:30:00Z')

function pagesOf(language: ConsoleLanguage, text: string, mayDecide: boolean): readonly (readonly [string, string])[] {
  const person = { fullName: text, email: text, roleName: html`${text}`, partnerName: text }
  const view = viewOf(language, { person, places: [], current: 'queue' })
  const typed = () => text
  const row = { partnerId: text, id: text, openedAt: at, proposedBy: text }
  const aCase = { ...row, kind: text, money: text }
  const aHit = { ...row, name: text, listedName: text, source: text, score: 97 }
  const decisions = [{ at, actor: text, kind: text, what: text, note: text }]
  return [
    ['queue', queuePage(view, { cases: [aCase], next: text })],
    ['empty queue', queuePage(view, { cases: [], next: null })],
    [
      'case',
      casePage(view, {
        ...aCase,
        ...{ report: text, proposal: { id: text, action: text, note: text }, ended: null },
        ...{ decisions, actions: [text], mayDecide, error: text, typed },
      }),
    ],
    ['hits', hitsPage(view, { hits: [aHit], next: text })],
    ['no hits', hitsPage(view, { hits: [], next: null })],
    [
      'hit',
      hitPage(view, {
        ...aHit,
        ...{ reference: text, subjectKind: text, subjectId: text, role: text, births: [text], programmes: [text] },
        words: [{ word: text, listed: null, how: text }],
        ...{ status: text, decidedBy: text, hasEnded: false, proposal: text, decisions, mayDecide, error: text, typed },
      }),
    ],
  ]
}

test('pages of the desk escape hostile texts, label fields and have their structure, in every language', () => {
  for (const language of consoleLanguages)
    for (const mayDecide of [true, false])
      for (const [name, page] of pagesOf(language, evil, mayDecide)) {
        checkEscaped(name, page)
        checkLabels(name, page)
        checkStructure(name, page)
        checkSize(name, page)
      }
})

test('German has every text of the desk', () => {
  for (const { en, de } of [deskTexts, hitTexts])
    for (const [key, text] of Object.entries(de)) {
      assert.notEqual(text.trim(), '', key)
      const placeholders = (of: string) => (of.match(/\{\w+\}/g) ?? []).toSorted()
      assert.deepEqual(placeholders(text), placeholders((en as Record<string, string>)[key] ?? ''), key)
    }
})
