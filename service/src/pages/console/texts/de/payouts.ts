/** German texts of the pages for approvals, bulk payouts and standing orders. */
import type { Words } from '../../../kit/texts/en.ts'
import type { payoutsEn } from '../en/payouts.ts'

const approvals: Words<(typeof payoutsEn)['approvals']> = {
  title: 'Auszahlung freigeben',
  lead: '{name} bittet um diese Auszahlung. Vergleichen Sie sie mit der Rechnung oder dem Auftrag, bevor Sie sie freigeben.',
  makerLeft:
    '{name} darf hier keine Auszahlungen mehr veranlassen. Klären Sie vor der Freigabe, ob jemand sie noch will.',
  amount: 'Betrag',
  counted: 'Zählt als',
  countedText: '{amount}, zum Kurs {rate} vom {day}',
  payee: 'Empfänger',
  account: 'Konto',
  reference: 'Referenz',
  serviceReference: 'Unsere Referenz',
  validUntil: 'Freigabe möglich bis',
  payeeMismatch:
    'Eine Prüfung ergab, dass das Konto nicht auf den Namen dieses Empfängers lautet. Fragen Sie ihn nach dem richtigen Namen, bevor Sie freigeben.',
  passkeyTitle: 'Mit Ihrem Passkey',
  passkeyText:
    'Ihr Passkey unterschreibt diesen Betrag und diesen Empfänger. Die Unterschrift bleibt im Prüfprotokoll, wo man sie nachprüfen kann.',
  codeTitle: 'Mit Ihrer Authenticator-App',
  codeText: 'Der Code gibt diesen Betrag an diesen Empfänger frei, ein einziges Mal.',
  approve: '{amount} freigeben',
  passkeyOnly:
    'Diese Auszahlung braucht einen Passkey, und Sie melden sich mit einem Passwort an. Fügen Sie auf der Seite „Anmeldung“ einen Passkey hinzu, und kommen Sie zurück.',
  rejectTitle: 'Stattdessen ablehnen',
  reject: 'Auszahlung ablehnen',
  reason: 'Grund',
  reasonHelp: 'Ihr Team liest ihn auf der Seite der Auszahlung. Der Empfänger nicht. 1 bis 140 Zeichen.',
  reasonWrong: 'Geben Sie einen Grund mit 1 bis 140 Zeichen ein.',
  refused:
    'Die Auszahlung wurde nicht freigegeben: Die Antwort war falsch oder kam nach mehr als zwei Minuten. Sehen Sie sich die Auszahlung noch einmal an, und wiederholen Sie die Freigabe.',
  beyond:
    'Eine Person gibt am Tag höchstens {most} frei, und Ihnen bleiben {left}. Eine andere Person gibt diese Auszahlung frei.',
  beyondUntil: 'Ihre Tagessumme beginnt neu um',
  beyondNow:
    'Die Auszahlung wurde nicht freigegeben: Sie liegt über dem, was Sie an diesem Tag freigeben dürfen. Eine andere Person gibt sie frei.',
  creator: 'Sie haben diese Auszahlung selbst veranlasst. Eine andere Person gibt sie frei.',
  notWaiting: 'Diese Auszahlung wartet nicht mehr auf eine Freigabe.',
  noPermission: 'Ihre Rolle darf keine Auszahlungen freigeben. Ein Admin oder ein Operator kann es.',
  back: 'Zurück zur Auszahlung',
}

export const payoutsDe: Words<typeof payoutsEn> = {
  approvals,
  sending: {
    payOn: 'Zahlen am',
    payOnHelp: 'Leer oder heute: sofort. Ist die Bank an dem Tag geschlossen: am nächsten Bankarbeitstag.',
    payOnWrong: 'Wählen Sie heute oder einen späteren Tag.',
    payLater: '{amount} am {day} zahlen',
    laterText:
      'Noch ist nichts geschehen. Die Zahlung wird am {day} ausgeführt. Geld, Limits und Freigaben werden an dem Tag noch einmal geprüft, und vorher wird nichts reserviert.',
    laterFails: 'Heute würde eine Regel diese Zahlung ablehnen. An ihrem Tag wird sie noch einmal geprüft.',
    scheduled:
      '{payee} erhält {amount} am {day}. Vorher wird nichts reserviert. Um die Zahlung zu verhindern, beenden Sie den Auftrag auf dieser Seite.',
    note: 'Notiz für Kollegen',
    noteHelp:
      'Ihr Team sieht sie hier. Weder eine Bank noch der Empfänger erhält sie. Höchstens 500 Zeichen, eine Zeile.',
    noteWrong: 'Schreiben Sie höchstens 500 Zeichen in einer Zeile.',
    noteBy: 'Geschrieben von',
    noteWrite: 'Notiz schreiben',
    noteChange: 'Notiz ändern',
    noteSave: 'Notiz speichern',
    noteSaved: 'Die Notiz ist gespeichert.',
    toConfirmation: 'Bestätigung als PDF',
    confirmation: 'Zahlungsbestätigung',
    confirmed: '{payer} hat {amount} an {payee} gezahlt.',
    paidOn: 'Gezahlt am',
    repeatsTitle: 'Wiederholt vielleicht eine frühere Zahlung',
    repeatsText:
      'Derselbe Betrag ging schon an dieses Konto, oder ein Dauerauftrag wird ihn zahlen. Vergleichen Sie beide Zahlungen, bevor das Geld zweimal fließt.',
    repeatsBecause: 'Was gleich ist',
    sameReference: 'Konto, Betrag und Verwendungszweck',
    otherReference: 'Konto und Betrag, nur wenige Tage Abstand',
    order: 'Dauerauftrag',
    scheduledAt: 'Wird gezahlt',
    again: '{payee} noch einmal {amount} zahlen',
    againNeeded:
      'Diese Zahlung wiederholt vielleicht eine frühere. Sehen Sie sie auf dieser Seite an, und kreuzen Sie den Satz an, wenn Sie noch einmal zahlen wollen.',
    approved: 'Sie haben die Auszahlung freigegeben. Sie geht jetzt an die Bank, und diese Seite zeigt jeden Schritt.',
    rejected: 'Sie haben die Auszahlung abgelehnt. Sie wird nicht gesendet, und ihr Geld ist wieder verfügbar.',
  },

  bulkApprovals: {
    ...approvals,
    title: 'Sammelzahlung freigeben',
    lead: '{name} bittet um diese Auszahlungen. Vergleichen Sie Anzahl und Summe mit der Datei, bevor Sie sie freigeben.',
    payouts: 'Auszahlungen',
    largest: 'Die größten Auszahlungen',
    all: 'Alle Auszahlungen',
    passkeyText:
      'Ihr Passkey unterschreibt die Anzahl, die Summe und jeden Empfänger dieser Auszahlungen. Die Unterschrift bleibt im Prüfprotokoll, wo man sie für jede nachprüfen kann.',
    codeText: 'Der Code gibt diese Auszahlungen frei, ein einziges Mal.',
    approve: '{count} Auszahlungen freigeben, {amount}',
    passkeyOnly:
      'Diese Auszahlungen brauchen einen Passkey, und Sie melden sich mit einem Passwort an. Fügen Sie auf der Seite „Anmeldung“ einen Passkey hinzu, und kommen Sie zurück.',
    reject: 'Alle ablehnen',
    refused:
      'Nichts wurde freigegeben: Die Antwort war falsch oder kam nach mehr als zwei Minuten. Sehen Sie sich die Auszahlungen noch einmal an, und wiederholen Sie die Freigabe.',
    beyond:
      'Eine Person gibt am Tag höchstens {most} frei, und Ihnen bleiben {left}. Eine andere Person gibt diese Auszahlungen frei.',
    beyondNow:
      'Nichts wurde freigegeben: Die Summe liegt über dem, was Sie an diesem Tag freigeben dürfen. Eine andere Person gibt die Auszahlungen frei.',
    creator: 'Sie haben diese Auszahlungen selbst veranlasst. Eine andere Person gibt sie frei.',
    notWaiting:
      'Es warten jetzt andere Auszahlungen als die, die Sie gesehen haben, oder keine. Öffnen Sie die Seite neu.',
    back: 'Zurück zur Sammelzahlung',
  },

  orders: {
    lead: 'Auszahlungen, die der Dienst nach einem Plan ausführt. Der neueste Auftrag steht oben.',
    empty: 'Noch kein Dauerauftrag',
    emptyText: 'Ein Dauerauftrag zahlt einmal zu einem späteren Zeitpunkt oder immer wieder an einen Empfänger.',
    newOrder: 'Neuer Dauerauftrag',
    order: 'Dauerauftrag',
    next: 'Nächste Auszahlung',
    schedule: 'Plan',
    status: { Active: 'Aktiv', Paused: 'Angehalten', Ended: 'Beendet' },
    endReason: {
      Completed: 'Der letzte Termin ist vorbei',
      Cancelled: 'Von Ihrem Team beendet',
      BeneficiaryDeleted: 'Der Empfänger wurde gelöscht',
    },
    frequency: 'Wie oft',
    frequencies: {
      Once: 'Einmal',
      Daily: 'Jeden Tag',
      Weekly: 'Jede Woche',
      Monthly: 'Jeden Monat',
      Yearly: 'Jedes Jahr',
    },
    startsOn: 'Erster Tag',
    startsOnHelp: 'In der Zukunft. Ein wöchentlicher Auftrag zahlt am Wochentag dieses Tages.',
    time: 'Uhrzeit (UTC)',
    timeHelp: 'Zum Beispiel 06:00.',
    dayOfMonth: 'Tag des Monats',
    dayOfMonthHelp: 'Nur für jeden Monat. 31 ist der letzte Tag jedes Monats.',
    endsOn: 'Letzter Tag',
    count: 'Anzahl der Auszahlungen',
    endHelp: 'Geben Sie den letzten Tag oder die Anzahl an, oder keines von beiden.',
    businessDays: 'Wenn die Bank an einem Termin geschlossen hat',
    businessDayRules: {
      Following: 'Am nächsten Geschäftstag zahlen',
      Preceding: 'Am Geschäftstag davor zahlen',
      None: 'Am Termin selbst zahlen',
    },
    create: 'Dauerauftrag anlegen',
    created: 'Der Dauerauftrag ist angelegt. Prüfen Sie unten seine Termine.',
    paused: 'Der Dauerauftrag ist angehalten.',
    resumed: 'Der Dauerauftrag geht mit dem nächsten Termin weiter.',
    cancelled: 'Der Dauerauftrag ist beendet.',
    made: 'Ausgeführte Auszahlungen',
    ended: 'Beendet am',
    endedBecause: 'Grund des Endes',
    datesAhead: 'Nächste Termine',
    noDates: 'Es ist kein Termin übrig.',
    date: 'Termin',
    executesAt: 'Auszahlung am',
    pause: 'Anhalten',
    resume: 'Fortsetzen',
    cancel: 'Auftrag beenden',
    cancelTitle: 'Diesen Dauerauftrag beenden?',
    cancelEffect: 'Er führt keine weitere Auszahlung aus.',
    cancelMade: 'Ausgeführte Auszahlungen laufen weiter.',
    cancelFinal: 'Ein beendeter Auftrag kann nicht fortgesetzt werden.',
    executions: 'Was bisher geschehen ist',
    executionsEmpty: 'Noch ist kein Termin gekommen.',
    executionStatus: {
      Made: 'Ausgeführt',
      Retrying: 'Wird wiederholt',
      Failed: 'Gescheitert',
      Skipped: 'Übersprungen',
    },
    outcome: 'Ergebnis',
    attempts: 'Versuche',
    toPayout: 'Auszahlung öffnen',
    refusal: {
      standing_order_limit_reached: 'Es gibt so viele aktive Aufträge wie erlaubt. Beenden Sie zuerst einen.',
      standing_order_ended: 'Der Auftrag ist schon beendet.',
      beneficiary_not_payable: 'An diesen Empfänger sind keine Daueraufträge möglich.',
    },
  },
}
