/** Texts of saved views. */
import type { Words } from './payments-en.ts'

const en = {
  title: 'Saved views',
  save: 'Save this view',
  change: 'Change this view',
  name: 'Name of the view',
  who: 'Who sees it',
  whos: { own: 'Only me', team: 'My team' },
  shared: 'shared',
  rename: 'Rename',
  remove: 'Delete view',
  invalid: 'The saved view “{name}” has a filter that is no longer valid. Change the filter, or delete the view.',
  nameWrong: 'Enter a name of 1 to 60 characters.',
  nameTaken: 'Another of your views of this list has this name.',
  tooMany: 'You have 50 views. Delete one first.',
  queryWrong: 'These filters cannot be saved: there are none, or they are too long.',
  refused: 'The view was not saved',
} as const

const de: Words<typeof en> = {
  title: 'Gespeicherte Ansichten',
  save: 'Diese Ansicht speichern',
  change: 'Diese Ansicht ändern',
  name: 'Name der Ansicht',
  who: 'Wer sie sieht',
  whos: { own: 'Nur ich', team: 'Mein Team' },
  shared: 'geteilt',
  rename: 'Umbenennen',
  remove: 'Ansicht löschen',
  invalid:
    'Die gespeicherte Ansicht „{name}“ hat einen Filter, der nicht mehr gültig ist. Ändern Sie den Filter, oder löschen Sie die Ansicht.',
  nameWrong: 'Geben Sie einen Namen mit 1 bis 60 Zeichen ein.',
  nameTaken: 'Eine andere Ihrer Ansichten dieser Liste heißt so.',
  tooMany: 'Sie haben 50 Ansichten. Löschen Sie zuerst eine.',
  queryWrong: 'Diese Filter lassen sich nicht speichern: Es sind keine, oder sie sind zu lang.',
  refused: 'Die Ansicht wurde nicht gespeichert',
}

export const savedViewTexts = { en, de } as const
