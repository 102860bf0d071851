-- A run of a background response is charged with its end, or never. What an earlier version charged for a run that did not end
-- keeps its entry; the run that follows is charged under an id of its own.
update responses r set request_id = request_id || '/2'
where finished_at is null
  and exists (select from ledger_entries e where e.request_id = r.request_id and e.kind = 'charge' and e.job_id is null);
