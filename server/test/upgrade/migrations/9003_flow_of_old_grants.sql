-- latchkey: batches of grants by id
update grants set flow = case when device_code_id is null then 'dialog' else 'device' end
  where id between $1 and $2 and flow is null;
