-- Sessions that rested for more than five minutes: their person signs in again before a page shows money.
-- Why: Article 4(3)(d) of Regulation (EU) 2018/389 allows five minutes without activity; other pages keep 15 minutes.
-- Processes of the version before may run: they write false, as before.
-- Locks: ACCESS EXCLUSIVE on sign_in.sessions for the change of the catalogue.
alter table sign_in.sessions add column rested boolean not null default false;
